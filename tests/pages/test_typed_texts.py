"""Every text field of every page, filled to its bound with the text that costs most: nobody else waits meanwhile.

A page runs in a thread of the server's process. What keeps all others, `/healthz` among them, from being served is a thread that
does not let go of the interpreter: here a second thread wakes every few milliseconds, and the process may not compute for longer
than .2 s between two of its wakes. Seconds of the processor, so that a busy machine changes nothing.
"""

import ast
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from streamlit.testing.v1 import AppTest

from core.words.model_files import WORD_FILES
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran

MOST_S: Final = 0.2
PAGES: Final = ROOT / "pages"
CALLS: Final = {"st.text_input", "st.text_area", "st.chat_input", "url_state.text", "controls.own_text"}

_random = random.Random(0)


def pairs(count: int) -> str:
    """Words of two letters, of which the comparison of two texts took longest."""
    return " ".join(_random.choices([one + other for one in "abcdefghij" for other in "abcdefghij"], k=count))


WORST: Final[list[tuple[str, dict[str, str], dict[str, str]]]] = [
    ("learn/metrics.py", {"part": "edit"}, {"ref": pairs(5_000), "hyp": pairs(5_000)}),
    ("learn/metrics.py", {"part": "bleu"}, {"ref": pairs(5_000), "hyp": pairs(5_000)}),
    ("learn/metrics.py", {"part": "edit"}, {"ref": "a " * 200_000, "hyp": pairs(200_000)}),
    ("learn/ctc.py", {"part": "paths"}, {"target": "A B " * 20_000, "path": "$\\frac{" * 20_000}),
    ("learn/ctc.py", {"part": "paths", "fill": "frames"}, {"signed": "1 2 " * 20_000}),
    ("learn/transformer.py", {}, {"date": "e\u0301\u0302 " * 20_000}),
    ("learn/equations.py", {}, {"find": "softmax CTC " * 10_000}),
    ("learn/attention_steps.py", {"part": "heads"}, {"words": "[](" * 20_000}),
    ("learn/permutation.py", {}, {"typed": "a b c d e f " * 10_000}),
    ("learn/sentences.py", {}, {"text": "tired wide street " * 5_000}),
    ("learn/sentences.py", {}, {"other": "animal because it " * 5_000}),
]
"""Page, address, and the texts by field, each longer than its field may be."""
ELSEWHERE: Final = {
    (
        "markets/upload_panel.py",
        "upload:market",
    ): "60 characters, after a file was inspected: tests/pages/markets/test_library.py",
    ("shared/search.py", "search_for"): "tests/pages/shared/test_search.py",
    ("learn/writing.py", "prompt"): "needs a network of 270 MB: tests/pages/learn/test_writing.py",
}
"""Fields that other tests fill, by the file that draws them."""
HELPERS: Final = {
    "learn/ctc.py": "signed above",
    "shared/controls.py": "text and prompt",
    "learn/frame.py": "words and said above",
    "learn/metrics.py": "ref and hyp above, which refuse what is too long instead of cutting it",
    "markets/upload_panel.py": "the recording's name",
}
"""Files whose fields have keys that their callers give."""


@contextmanager
def never_held_up() -> Iterator[None]:
    """Notes the processor's seconds between two wakes of a second thread."""
    longest, over = 0.0, threading.Event()

    def wake() -> None:
        nonlocal longest
        last = time.process_time()
        while not over.wait(0.005):
            now = time.process_time()
            longest, last = max(longest, now - last), now

    thread = threading.Thread(target=wake)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert longest < MOST_S


def filled(app: AppTest, texts: dict[str, str]) -> None:
    for key, text in texts.items():
        (field,) = [one for one in (*app.text_input, *app.text_area) if one.key == key]
        field.set_value(text[: field.proto.max_chars or None])


@pytest.mark.parametrize(("page", "query", "texts"), WORST, ids=[f"{page}:{'+'.join(texts)}" for page, _query, texts in WORST])
def test_nobody_waits_for_a_text_at_its_bound(page: str, query: dict[str, str], texts: dict[str, str]) -> None:
    if page == "learn/sentences.py" and not WORD_FILES.available():
        pytest.skip("without the network that reads")
    app = open_page(PAGES / page, **query)
    filled(app, texts)
    with never_held_up():
        ran(app)


def drawn_fields() -> Iterator[tuple[str, str, bool]]:
    """File, key and whether it has a bound of characters, of each field that a page draws; "" for a key that its caller gives."""
    for path in sorted(PAGES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        constants = {
            node.target.id: ast.literal_eval(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
                given = {one.arg: one.value for one in node.keywords}
                key = given["key"]
                told = key.value if isinstance(key, ast.Constant) else constants.get(ast.unparse(key), "")
                yield path.relative_to(PAGES).as_posix(), told, bool({"max_chars", "most"} & given.keys())


def test_every_field_has_a_bound_and_stands_in_the_table() -> None:
    listed = {(page, key) for page, _query, texts in WORST for key in texts} | ELSEWHERE.keys()
    fields = list(drawn_fields())
    assert len(fields) > 12
    assert {(file, key) for file, key, _bound in fields if key} - listed == set()
    assert {file for file, key, _bound in fields if not key} == HELPERS.keys()
    assert {file for file, key, bound in fields if not bound and (file, key) not in ELSEWHERE} == {"learn/metrics.py"}
