"""Checkpoints on the Hub: pushed and fetched by the real huggingface_hub, against a server of its protocol on this machine."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import ModelCard

import attention_observatory as library
from attention_observatory import HubCheckpoint
from core import checkpoints
from tests.hub_server import TOKEN, HubServer, hub_server

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "assets/recordings/binance_spot_btcusdt_2024-08-08.parquet"
PUSH = """
from attention_observatory import HubCheckpoint
print(HubCheckpoint.of("tlob").push_to_hub("me/market", model_card_kwargs={"license": "mit"}))
"""
FETCH = f"""
from attention_observatory import load, predict_book
answer = predict_book({str(BOOK)!r}, checkpoint="me/market")
print(answer.to_frame().to_csv(index=False))
try:
    load("me/nothing")
except Exception as error:
    print(type(error).__name__, error)
"""


def run(code: str, hub: HubServer, home: Path, **more: str) -> list[str]:
    """Lines that a process prints whose Hub is the server, and whose cache is empty at first."""
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", **more}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_a_checkpoint_that_was_pushed_answers_elsewhere_as_here(tmp_path: Path) -> None:
    with hub_server() as hub:
        (pushed,) = run(PUSH, hub, tmp_path / "one", HF_TOKEN=TOKEN)
        assert pushed.startswith(f"{hub.url}/me/market/commit/") and "PUT object" in hub.asked
        files = hub.repositories["me/market"]
        lines = run(FETCH, hub, tmp_path / "other")
    assert {"model.safetensors", "config.json", "README.md"} == set(files)
    assert files["model.safetensors"] == (checkpoints.FOLDER / "tlob.safetensors").read_bytes()
    assert json.loads(files["config.json"]) == checkpoints.read_card("tlob")
    readme = files["README.md"].decode()
    about = ModelCard(readme).data
    assert (about.license, about.library_name, about.tags) == ("mit", "attention-observatory", ["attention", "tlob"])
    for row in checkpoints.read_card("tlob")["metrics"]["test"]["lobster_goog"]:
        assert (
            f"| {row['label']} | {row['horizon']} | {row['samples']} | {row['call']} | {row['accuracy']} | {row['macro_f1']} |"
            in readme
        )
    told = np.loadtxt(lines[1:9], delimiter=",", usecols=(2, 3, 4))
    np.testing.assert_allclose(told, library.predict_book(BOOK).probabilities, atol=1e-5)
    assert lines[-1] == "CheckpointError me/nothing is no checkpoint: it has no config.json"


def test_weights_that_are_not_the_cards_are_refused(tmp_path: Path) -> None:
    HubCheckpoint.of("vit").save_pretrained(tmp_path)
    loaded = HubCheckpoint.from_pretrained(tmp_path)
    assert loaded.card == checkpoints.read_card("vit")
    assert hashlib.sha256(loaded.weights.read_bytes()).hexdigest() == loaded.card["weights_sha256"]
    weights = bytearray(loaded.weights.read_bytes())
    weights[-1] ^= 1
    loaded.weights.write_bytes(weights)
    with pytest.raises(checkpoints.CheckpointError, match="their SHA-256 differs"):
        HubCheckpoint.from_pretrained(tmp_path).checkpoint()
    (tmp_path / "config.json").write_text('{"name": "vit"}')
    with pytest.raises(checkpoints.CheckpointError, match=r"the card config\.json lacks model"):
        HubCheckpoint.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", checkpoints.names())
def test_every_shipped_card_makes_a_readme(name: str) -> None:
    card = HubCheckpoint.of(name).generate_model_card()
    assert card.data.library_name == "attention-observatory" and card.data.license is None
    assert f"# {name}\n" in card.text and checkpoints.read_card(name)["weights_sha256"] in card.text
