"""The positional-encoding page by Streamlit's own test runner: a link, learned positions, nonsense."""

from collections.abc import Callable

import pytest

from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page

PAGE = ROOT / "pages" / "learn" / "positions.py"


@pytest.mark.parametrize("part", ["matrix", "similarity"])
def test_the_shipped_learned_positions(part: str, notebook_code: Callable[[], str]) -> None:
    app = open_page(PAGE, part=part, pe="tlob", pos="100")
    assert not app.select_slider and "LEARNED = np.array([[" in notebook_code()


def test_a_link_opens_the_exact_state(notebook_code: Callable[[], str]) -> None:
    app = open_page(PAGE, part="rotation", n="20", d="16", base="100", k="4", i="3", pos="6")
    assert app.slider(key="k").value == 4 and app.select_slider(key="d").value == "16"
    assert "rounding error" in app.success[0].value
    assert "LENGTH = 20" in notebook_code() and "SHIFT = 4" in notebook_code()
