"""The command that a newcomer types first."""

from pathlib import Path

import numpy as np
import pytest

from attention_light.__main__ import demo, main
from core.words import bundled


def test_the_demo_is_the_bundled_sentence_and_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", str(tmp_path / "page.html"), "--no-browser"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "page.html")
    assert "mountText(" in (tmp_path / "page.html").read_text(encoding="utf-8")
    read = bundled.sentences()[bundled.TEXTS[0]]
    np.testing.assert_array_equal([one.weights for one in demo().layers], read.weights.astype(np.float16))
    assert demo().answer == read.text
