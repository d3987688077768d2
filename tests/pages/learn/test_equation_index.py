"""The page of the equation index by Streamlit's own test runner: search, pages, links, both languages."""

from core.lecture.equations import equations, search
from core.models.tlob import TLOB, TLOBConfig
from pages.learn.equation_tables import example
from pages.shared.navigation import ENTRIES, ROOT
from tests.pages.learn.drawn_part import pages
from tests.pages.open_page import open_page, ran

PAGE = ROOT / "pages" / "learn" / "equations.py"


def test_all_are_counted_and_shown_a_page_at_a_time() -> None:
    app = open_page(PAGE)
    assert app.markdown[1].value == f"**Equations: {len(equations())} of {len(equations())}**"
    assert len(app.latex) == 20
    app.slider[0].set_value(app.slider[0].max)
    ran(app)
    assert len(app.latex) == (len(equations()) % 20 or 20)
    assert app.latex[-1].value.strip("$\n ") == equations()[-1].latex.strip()
    assert "8" in app.query_params["sheet"]


def test_a_search_lives_in_the_link() -> None:
    app = open_page(PAGE, find="doubled exponent")
    assert len(app.latex) == len(search("doubled exponent")) == 1
    assert any("(positions?part=matrix&doubled=true)" in element.value for element in app.markdown)
    assert len(open_page(PAGE, find="attention-notebook D22").latex) == len(search("attention-notebook D22")) == 2


def test_a_link_of_before_finds_its_document_and_decision() -> None:
    app = open_page(PAGE, find="exponent", doc="vit-report", decided="D11")
    assert app.text_input(key="find").value == "exponent vit-report D11"
    assert len(app.latex) == len(search("exponent vit-report D11")) > 0 and "doc" not in app.query_params
    assert open_page(PAGE, doc="all", decided="any").text_input(key="find").value == ""


def test_nothing_found_is_said() -> None:
    app = open_page(PAGE, find="no such equation")
    assert not app.latex and "No equation" in app.info[0].value
    open_page(PAGE, sheet="nine")


def test_spanish_titles_and_links() -> None:
    app = open_page(PAGE, find="exponente duplicado", lang="es")
    shown = " ".join(element.value for element in app.markdown)
    assert "El exponente duplicado del listado" in shown and "(positions?part=matrix&doubled=true&lang=es)" in shown


def test_every_entry_opens_a_view() -> None:
    """Of a lesson a part of it, which `test_every_state` opens; of another page the page itself; in the index its own numbers."""
    files, opened = {entry.url: ROOT / entry.file for entry in ENTRIES}, set[tuple[str, ...]]()
    for entry in equations():
        if entry.page == "equations":
            assert search(entry.query["find"]) == [entry] and example(entry.id)
        elif entry.page in pages():
            assert entry.query.get("part", "") in {"", *(part.code for part in pages()[entry.page].parts)}, entry.id
        elif (address := (entry.page, *entry.query.values())) not in opened and entry.page != "live":
            opened.add(address)
            app = open_page(files[entry.page], **entry.query)
            given = {key: app.query_params[key] for key in entry.query if key in app.query_params}
            assert not app.error and all(value in (entry.query[key], [entry.query[key]]) for key, value in given.items()), (
                entry.id
            )


def test_the_families_have_their_published_sizes() -> None:
    d, hidden, layers = 768, 4 * 768, 12
    layer = 4 * (d * d + d) + 2 * d * hidden + hidden + d + 4 * d
    bert = (30_522 + 512 + 2) * d + 2 * d + layers * layer + d * d + d
    gpt = (50_257 + 1024) * d + layers * layer + 2 * d
    encoder, decoder = 4 * d * d + 2 * d * hidden + 2 * d, 8 * d * d + 2 * d * hidden + 3 * d
    t5 = 32_128 * d + layers * (encoder + decoder) + 2 * d + 2 * 32 * 12
    lean = sum(one.numel() for one in TLOB(TLOBConfig(qkv="single")).parameters())
    table = next(one.value for one in open_page(PAGE).dataframe if "Learns to" in one.value)
    assert list(table["Parameters"]) == [f"{count:,}" for count in (bert, gpt, t5, lean)]


def test_an_operations_example_stands_under_its_formula() -> None:
    (shown,) = [one.value for one in open_page(PAGE, find="vit-clip").markdown if one.value.startswith("For example")]
    assert r"\begin{bmatrix}3.00 & 4.00\end{bmatrix} \to \begin{bmatrix}0.60 & 0.80\end{bmatrix}" in shown
