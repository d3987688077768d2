"""The CTC and metrics lessons by Streamlit's own test runner; `test_every_state` has their numbers at every dial's ends."""

import math
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.signs import ctc, ctc_lab, metrics
from pages.shared.navigation import ROOT
from pages.signs import cached_results
from tests.pages.open_page import open_page, ran, words


def opened(page: str, **query: str) -> AppTest:
    return open_page(ROOT / "pages" / "learn" / f"{page}.py", **query)


def stats(app: AppTest) -> dict[str, str]:
    """Values of the strips by name."""
    listed: dict[str, str] = {}
    for element in app.get("html"):
        listed.update(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", element.proto.body))
    return listed


def cells(app: AppTest, key: str) -> list[list[str]]:
    """What stands in a matrix's cells, row by row."""
    table = next(one.proto.body for one in app.get("html") if f'data-key="{key}"' in one.proto.body)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", table.split("<tbody>")[1], re.DOTALL)]


def matrix(app: AppTest, key: str) -> np.ndarray:
    """Its numbers."""
    return np.array(cells(app, key), dtype=float)


def test_the_lab_shows_a_targets_numbers():
    app = opened("ctc", part="paths", target="A A B", length="7", fill="random")
    lattice = ctc_lab.made(["A", "A", "B"], 7, "random").lattice()
    shown = stats(app)
    assert shown["Frames needed"] == "4"
    assert shown["Valid paths"] == "84"
    assert shown["Loss"] == f"{lattice.loss:.4f}"
    paths = next(frame.value for frame in app.dataframe if "Path" in frame.value)
    assert len(paths) == 84
    expected = [f"{math.exp(path.log_probability):.4g}" for path in ctc.valid_paths(lattice)]
    assert [f"{float(one):.4g}" for one in paths["Probability"]] == expected
    assert app.success[0].value == f"They add up to {math.exp(-lattice.loss):.4g}, which is P(target) as the trellis gives it."
    assert "`∅` `A` `∅` `A` `∅` `B` `∅`" in words(opened("ctc", target="A A B", length="7"))


@pytest.mark.parametrize(("target", "fill"), [("A B", "follow"), ("A A B", "random")])
def test_every_number_can_be_recomputed_from_the_table(target, fill):
    app = opened("ctc", target=target, length="6", fill=fill, at="2", state="1", show="alpha")
    made, table = ctc_lab.made(target.split(), 6, fill), matrix(app, "ctc_frames").T
    lattice = ctc_lab.Problem(names=made.names, target=made.target, probabilities=table).lattice()
    assert stats(app)["P(target)"] == f"{math.exp(-lattice.loss):.4g}" and stats(app)["Loss"] == f"{lattice.loss:.4f}"
    assert app.latex[1].value.split(r"\cdot ")[-1].partition(r" \\")[0] == f"{table[1, 1]:g}"


def test_the_documents_recursion_raises_the_loss():
    plain, document = (stats(opened("ctc", target="A B", length="6", **more)) for more in ({}, {"noskip": "true"}))
    assert float(document["Loss"]) > float(plain["Loss"])
    assert float(document["Loss as section 11.7 sums"]) < float(document["Loss"])
    assert document["Frames needed"] == "3"


def test_too_few_frames_are_explained():
    app = opened("ctc", target="A A B", length="3")
    assert "frames there are 3, and this target needs 4" in app.warning[0].value
    assert stats(app)["Loss"] == "∞"
    app.slider(key="length").set_value(4).run()
    assert not app.warning
    assert stats(app)["Valid paths"] == "1"


def test_a_dial_reads_only_frames_and_states_that_there_are():
    app = opened("ctc", target="A", length="3", at="40", state="24", dial="at")
    assert (app.slider(key="at").value, app.slider(key="at").max) == (3, 3)
    app = opened("ctc", target="A", length="3", at="40", state="24", dial="state")
    assert (app.slider(key="state").value, app.slider(key="state").max) == (2, 2)
    assert stats(opened("ctc", target="", length="1", at="40", state="24"))["Valid paths"] == "1"


@pytest.mark.parametrize(("signs", "opens"), [("tracks", "sentence"), ("frames", "sample"), ("", "sample")])
def test_a_link_of_before_opens_its_clip(signs, opens):
    app = opened("ctc", probs="clip", **({"signs": signs} if signs else {}))
    assert app.selectbox(key=opens).value and "probs" not in app.query_params
    app.segmented_control(key="fill").set_value("even")
    assert not ran(app).selectbox


def test_a_clip_without_a_model_is_said(monkeypatch):
    monkeypatch.setattr(cached_results, "model_names", lambda _kind: [])
    app = opened("ctc", fill="tracks")
    assert "no trained model for these clips yet" in app.error[0].value
    app.segmented_control(key="fill").set_value("even")
    assert not ran(app).error


def test_what_cannot_be_read_is_said_and_the_page_lives():
    app = opened("ctc", target="A ∅")
    assert "name of the lab's own" in app.error[0].value
    app.text_input(key="target").set_value("A").run()
    assert not app.error


def test_a_path_of_ones_own_collapses():
    app = opened("ctc", part="paths", path="X X - X")
    assert "`X` `∅` `X` · blanks removed: `X` `X`" in words(app)


def test_the_table_is_filled_step_by_step():
    app = opened("metrics", ref="A B", hyp="B A", left="4")
    assert "Entry (1, 1) = 1" in words(app)
    assert cells(app, "metrics_table") == [["0", "1", "2"], ["1", "1", ""], ["", "", ""]]
    assert "`A` differs from `B`: 1 + the least of 1 (above, a deletion), 1 (to the left, an insertion) and 0" in words(app)
    assert "The alignment appears when the table is full" in words(app)
    app.slider(key="left").set_value(0).run()
    assert "Entry (2, 2) = 2" in words(app)
    assert not app.exception


@pytest.mark.parametrize(("ref", "hyp", "rate"), [("", "", "0.0%"), ("A", "", "100.0%"), ("", "A", "undefined")])
def test_empty_sentences_are_defined(ref, hyp, rate):
    app = opened("metrics")
    app.text_area(key="ref").set_value(ref)
    app.text_area(key="hyp").set_value(hyp).run()
    assert not app.exception
    assert stats(app)["WER"] == rate
    assert stats(opened("metrics", part="rouge", ref=ref or " ", hyp=hyp or " "))["ROUGE-L F"] == "0.00%"


@pytest.mark.parametrize("show", ["alpha", "beta", "gamma"])
@pytest.mark.parametrize("cell", ["1.0", "4.2", "7.6"])
def test_a_states_printed_number_is_the_recursions(show, cell):
    """`test_every_state` holds the printed sums and products against their result."""
    at, state = cell.split(".")
    app = opened("ctc", target="A A B", length="7", fill="random", show=show, at=at, state=state)
    lattice = ctc_lab.made(["A", "A", "B"], 7, "random").lattice()
    logs = {"alpha": lattice.alpha, "beta": lattice.beta, "gamma": lattice.alpha + lattice.beta - lattice.log_probability}[show]
    result = app.latex[-1].value.replace(r"\end{aligned}", "").split("= ")[-1].strip("$\n ")
    assert float(result) == pytest.approx(math.exp(logs[int(at) - 1, int(state)]), rel=6e-3)


def test_bleu_shows_every_count():
    app = opened("metrics", part="bleu", ref="A B C D", hyp="A B C", ngrams="2")
    shown = stats(app)
    assert shown["BLEU-2"] == "71.65%"  # exp(1 - 4/3)
    assert shown["Brevity penalty"] == "0.7165"
    counts = next(frame.value for frame in app.dataframe if "Precision" in frame.value)
    assert counts["Matches"].tolist() == [3, 2]


def test_the_table_of_probabilities_adds_up_in_the_readers_digits():
    for language, sign in (("en", "."), ("es", ",")):
        app = opened("ctc", target="A B C", length="9", fill="random", lang=language)
        table = cells(app, "ctc_frames")
        assert all(re.fullmatch(rf"[01]{re.escape(sign)}\d{{3}}", value) for row in table for value in row)
        assert {sum(int(value.replace(sign, "")) for value in frame) for frame in zip(*table, strict=True)} == {1000}


def test_a_full_table_stays_full_when_a_sentence_grows():
    app = opened("metrics", ref="A B C", hyp="A B C")
    for hypothesis, size in (("A", 8), ("A B C D", 20)):
        app.text_area(key="hyp").set_value(hypothesis).run()
        assert (app.slider(key="left").value, app.slider(key="left").max) == (0, size - 1)


@pytest.mark.parametrize("part", ["edits", "bleu", "rouge"])
def test_a_very_long_sentence_has_no_table_made_for_it(part, monkeypatch):
    """A table of 25 million entries, filled one by one, would hold the server for seconds."""
    app = opened("metrics", part=part)
    monkeypatch.setattr(metrics, "lcs_table", lambda *_pair: pytest.fail("the table is made"))
    app.text_area(key="ref").set_value(" ".join(["A", "B"] * 2_500))
    app.text_area(key="hyp").set_value(" ".join(["B", "A"] * 2_500))
    shown = stats(ran(app))
    name, value = {
        "edits": ("Deletions D", "1"),
        "bleu": ("Hypothesis length c", "5,000"),
        "rouge": ("Common subsequence", "4,999"),
    }[part]
    assert shown[name] == value


@pytest.mark.parametrize("lines", [80, 1250])
def test_texts_up_to_the_bound_are_scored(lines):
    """A QR code holds no link of more than 2,300 characters; a link carries no text of more than 4,000."""
    app = opened("metrics")
    app.text_area(key="ref").set_value("\n".join(["ONE TWO THREE FOUR"] * lines))
    app.text_area(key="hyp").set_value("\n".join(["ONE TWO THREE FIVE"] * lines))
    assert ran(app).text_area(key="ref").proto.max_chars == 0  # a paste is not cut off without a word
    assert (stats(app)["WER"], stats(app)["Substitutions S"]) == ("25.0%", f"{lines:,}")
    assert ("ref" in app.query_params) == (lines == 80)
    assert any("QR code" in one.proto.body for one in app.get("html")) == (lines == 1250)


@pytest.mark.parametrize(
    ("written", "words"), [("A " * 5_001, "5001 words: up to 5000"), ("ab" * 1_200_000, "2400000 characters")]
)
def test_a_text_beyond_the_bound_is_refused_in_a_sentence(written, words, monkeypatch):
    """Of 400,000 words every other visitor waited a minute and a half."""
    app = opened("metrics")
    monkeypatch.setattr(metrics, "word_errors", lambda *_pair: pytest.fail("they are compared"))
    app.text_area(key="ref").set_value(written)
    assert words in ran(app).error[0].value


def test_each_line_is_a_sentence_of_the_corpus():
    app = opened("metrics", ref="A B C\nD", hyp="A B\nX Y", line="2")
    shown = stats(app)
    assert (shown["WER"], shown["Words N"], shown["Insertions I"]) == ("75.0%", "4", "1")  # one line would give 2 of 4
    assert app.slider(key="line").value == 2
    app = opened("metrics", ref="A\nB", hyp="A")
    assert "The reference has 2 sentences and the hypothesis 1" in app.error[0].value
    assert "WER" not in stats(app)


def test_an_empty_sentence_among_others_has_no_score_of_its_own():
    app = opened("metrics", part="bleu", ref="X\nA B C D", hyp="\nA B C D")
    assert stats(app)["BLEU-4"] == "77.88%" and "It is of all sentences" in words(app)
