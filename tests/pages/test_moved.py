"""Every address that the app ever had still opens a page."""

import json
import subprocess
import sys

from pages.shared.navigation import ENTRIES, MOVED, ROOT

ADDRESSES = """
home live wall panes attention recordings score train classify garment-attention tokens garment-training train-here own-classes
recognise sign-attention sign-live spell learn recurrent attention-steps trained-attention permutation positions norms
transformer backprop optimisers cost ctc metrics matrices uses pairs leakage paper-errors equations system
class class/{code} words
"""
"""Those of the largest app; a page that is new adds its own."""
ASK = """
import json, sys
from starlette.testclient import TestClient
import streamlit_app
client = TestClient(streamlit_app.app, base_url="http://localhost", follow_redirects=False)
print(json.dumps([client.get(f"/{url}?lang=es").headers.get("location") for url in json.loads(sys.argv[1])]))
"""


def test_every_address_is_a_page_or_leads_to_one() -> None:
    pages = {entry.url for entry in ENTRIES}
    assert set(ADDRESSES.split()) <= pages | MOVED.keys()
    assert {near.partition("?")[0] for near in MOVED.values()} <= pages and not pages & MOVED.keys()


def test_an_old_link_leads_on_with_what_it_chose() -> None:
    command = [sys.executable, "-c", ASK, json.dumps([*MOVED, "live"])]
    answers = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True).stdout
    assert json.loads(answers.splitlines()[-1]) == [
        *(
            "../" * old.count("/") + (near.replace("?", "?lang=es&") if "?" in near else f"{near}?lang=es")
            for old, near in MOVED.items()
        ),
        None,
    ]
