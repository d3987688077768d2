"""The documentation site: built strictly, with every public name of the library."""

import inspect
import re
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

import attention_observatory
from scripts import docs_site


def test_the_site_is_whole_and_asks_no_other_server(tmp_path: Path) -> None:
    docs_site.make(tmp_path)
    reference = (tmp_path / "reference" / "index.html").read_text(encoding="utf-8")
    for name in attention_observatory.__all__:
        found = getattr(attention_observatory, name)
        section = reference.partition(f'<h2 id="{found.__module__}.{found.__qualname__}"')[2].partition("<h2 ")[0]
        assert f" {name}" in re.sub(r"<[^>]+>", " ", section), name
        if inspect.isfunction(found):
            assert all(parameter in section for parameter in inspect.signature(found).parameters), name
    for page in tmp_path.rglob("index.html"):
        text = page.read_text(encoding="utf-8")
        assert 'src="http' not in text and '<link href="http' not in text


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_site, "reference_page", lambda: "# Reference\n\n[gone](gone.md)\n")
    with pytest.raises(Abort):
        docs_site.make(tmp_path)
