"""The CTC and metrics labs by Streamlit's own test runner."""

from __future__ import annotations

import math
import re
import unicodedata

import pytest
from streamlit.testing.v1 import AppTest

from core.signs import ctc_lab
from core.signs.ctc import count_paths
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran


def opened(page: str, **query: str) -> AppTest:
    return open_page(ROOT / "pages" / "signs" / f"{page}.py", **query)


def stats(app: AppTest) -> dict[str, str]:
    """Values of the strips by name."""
    listed: dict[str, str] = {}
    for element in app.get("html"):
        listed.update(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", element.proto.body))
    return listed


def text(app: AppTest) -> str:
    return " ".join(
        str(element.value) for kind in (app.markdown, app.caption, app.warning, app.info, app.error) for element in kind
    )


def test_the_lab_shows_a_targets_numbers():
    app = opened("ctc", target="A A B", length="7", fill="random", seed="5")
    lattice = ctc_lab.made(["A", "A", "B"], 7, "random", seed=5).lattice()
    shown = stats(app)
    assert shown["Frames needed"] == "4"
    assert shown["Valid paths"] == "84"
    assert shown["Loss"] == f"{lattice.loss:.4f}"
    assert "`∅` `A` `∅` `A` `∅` `B` `∅`" in text(app)
    paths = next(frame.value for frame in app.dataframe if "Path" in frame.value)
    assert len(paths) == 84
    assert paths["Probability"].sum() == pytest.approx(2.718281828**-lattice.loss)


@pytest.mark.parametrize(("target", "fill"), [("A B", "follow"), ("A A B", "random")])
def test_every_number_can_be_recomputed_from_the_table(target, fill):
    app = opened("ctc", target=target, length="6", fill=fill, cell="2.1", show="alpha")
    made = ctc_lab.made(target.split(), 6, fill)
    table = next(frame.value for frame in app.dataframe if "A" in frame.value and len(frame.value) == 6).astype(float).to_numpy()
    lattice = ctc_lab.Problem(names=made.names, target=made.target, probabilities=table).lattice()
    assert stats(app)["P(target)"] == f"{math.exp(-lattice.loss):.4g}" and stats(app)["Loss"] == f"{lattice.loss:.4f}"
    assert app.latex[0].value.split(r"\cdot ")[-1].partition(r" \\")[0] == f"{table[1, 1]:g}"


def test_one_frame_more_gives_more_paths():
    app = opened("ctc", target="A A B", length="6", ask="true")
    app.button(key="predict_reveal").click()
    ran(app)
    paths = [count_paths([1, 1, 2], frames) for frames in (6, 7)]
    assert app.info[0].value == f"**it rises.** {paths[0]} → {paths[1]}"


def test_the_documents_recursion_raises_the_loss():
    plain, document = (stats(opened("ctc", target="A B", length="6", **more)) for more in ({}, {"noskip": "true"}))
    assert float(document["Loss"]) > float(plain["Loss"])
    assert float(document["Loss as section 11.7 sums"]) < float(document["Loss"])
    assert document["Frames needed"] == "3"


def test_too_few_frames_are_explained():
    app = opened("ctc", target="A A B", length="3")
    assert "3 frames cannot hold this target, which needs 4" in app.warning[0].value
    assert stats(app)["Loss"] == "∞"
    app.button(key="ctc:Just enough frames").click().run()
    assert not app.warning
    assert stats(app)["Valid paths"] == "1"


@pytest.mark.parametrize("place", range(6))
def test_every_example_works(place):
    app = opened("ctc")
    examples = [button.key for button in app.button if str(button.key).startswith("ctc:")]
    assert len(examples) == 6
    app.button(key=examples[place]).click().run()
    assert not app.exception
    assert not app.error


def test_changed_cells_come_back_from_a_link():
    app = opened("ctc", target="A", length="2", fill="even", cells="1.2-0.9_2.1-0")
    problem = ctc_lab.changed(ctc_lab.made(["A"], 2, "even"), {(0, 1): 0.9, (1, 0): 0.0})
    assert stats(app)["Loss"] == f"{problem.lattice().loss:.4f}"
    app.button(key="ctc:undo").click().run()
    assert stats(app)["Loss"] == f"{ctc_lab.made(['A'], 2, 'even').lattice().loss:.4f}"


def test_what_cannot_be_read_is_said_and_the_page_lives():
    app = opened("ctc", target="A ∅")
    assert "name of the lab's own" in app.error[0].value
    app.text_input(key="target").set_value("A").run()
    assert not app.error
    app = opened("ctc", target="A", cells="1.1-0_1.2-0_1.3-0")
    assert not app.error  # a link that leaves a frame without any weight is passed over
    assert stats(app)["Loss"]


def test_a_path_of_ones_own_collapses():
    app = opened("ctc", path="X X - X")
    assert "`X` `∅` `X` · blanks removed: `X` `X`" in text(app)


def test_metrics_of_the_first_example():
    shown = stats(opened("metrics"))
    assert (shown["WER"], shown["Substitutions S"], shown["Deletions D"], shown["Insertions I"]) == ("42.9%", "1", "1", "1")
    assert shown["Common subsequence"] == "5"


def test_the_table_is_filled_step_by_step():
    app = opened("metrics", ref="A B", hyp="B A", filled="5")
    assert "Entry (1, 1) = 1" in text(app)
    assert "`A` differs from `B`: 1 + the least of 1 (above, a deletion), 1 (to the left, an insertion) and 0" in text(app)
    assert "The alignment appears when the table is full" in text(app)
    app.slider(key="filled").set_value(9).run()
    assert "Entry (2, 2) = 2" in text(app)
    assert not app.exception


@pytest.mark.parametrize(("ref", "hyp", "rate"), [("", "", "0.0%"), ("A", "", "100.0%"), ("", "A", "undefined")])
def test_empty_sentences_are_defined(ref, hyp, rate):
    app = opened("metrics")
    app.text_area(key="ref").set_value(ref)
    app.text_area(key="hyp").set_value(hyp).run()
    assert not app.exception
    assert stats(app)["WER"] == rate
    assert stats(app)["ROUGE-L F"] == "0.00%"


def test_a_word_typed_in_two_ways_is_no_error():
    shown = stats(opened("metrics", ref="SEÑOR café", hyp=unicodedata.normalize("NFD", "SEÑOR café"), ngrams="2"))
    assert (shown["WER"], shown["BLEU-2"], shown["ROUGE-L F"]) == ("0.0%", "100.00%", "100.00%")


@pytest.mark.parametrize(("ref", "hyp", "order"), [("A B C D", "A B C", 2), ("A B C D E F G", "A B C D E F Q R", 4)])
def test_bleus_printed_numbers_give_the_printed_score(ref, hyp, order):
    line = opened("metrics", ref=ref, hyp=hyp, ngrams=str(order)).latex[0].value
    brevity, *precisions, root, score = map(float, re.findall(r"\d+\.?\d*", line.replace(f"1/{order}", f"{order}")))
    assert f"{brevity * math.prod(precisions) ** (1 / root):.3g}" == f"{score:.3g}"


@pytest.mark.parametrize("show", ["alpha", "beta", "gamma"])
@pytest.mark.parametrize("cell", ["1.0", "1.3", "4.2", "7.5", "7.6", "3.1"])
def test_a_states_printed_numbers_give_the_printed_one(show, cell):
    """Every sum and product, as LaTeX prints it, against its result, and the result against the recursion."""
    line = opened("ctc", target="A A B", length="7", fill="random", seed="5", show=show, cell=cell).latex[0].value.strip("$\n ")
    lattice = ctc_lab.made(["A", "A", "B"], 7, "random", seed=5).lattice()
    t, s = (int(one) - back for one, back in zip(cell.split("."), (1, 0), strict=True))
    logs = {"alpha": lattice.alpha, "beta": lattice.beta, "gamma": lattice.alpha + lattice.beta - lattice.log_probability}[show]
    steps = line.replace(r"\begin{aligned}", "").replace(r"\end{aligned}", "").split(r"\\")
    result = steps[-1].split("= ")[-1].partition(r" \quad")[0]
    assert float(result) == pytest.approx(math.exp(logs[t, s]), rel=6e-3)
    if len(steps) > 1:
        printed = re.sub(r"\\frac\{(.*)\}\{(.*)\}", r"(\1) / (\2)", steps[-2].split("= ")[-1]).replace(r"\cdot", "*")
        assert f"{eval(printed):.3g}" == f"{float(result):.3g}"  # digits and signs alone


def test_bleu_shows_every_count():
    app = opened("metrics", ref="A B C D", hyp="A B C", ngrams="2")
    shown = stats(app)
    assert shown["BLEU-2"] == "71.65%"  # exp(1 - 4/3)
    assert shown["Brevity penalty"] == "0.7165"
    counts = next(frame.value for frame in app.dataframe if "Precision" in frame.value)
    assert counts["Matches"].tolist() == [3, 2]


def test_a_sentence_too_long_for_a_table_has_none():
    app = opened("metrics", ref=" ".join(["A"] * 31))
    assert "31 words" in app.info[0].value


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("ctc", {"seed": "inf", "fill": "random"}),
        ("ctc", {"seed": "9" * 4400, "fill": "random"}),
        ("ctc", {"cell": "1." + "9" * 4400}),
        ("ctc", {"cells": "1." + "9" * 4400 + "-0.5"}),
        ("metrics", {"filled": "9" * 4400, "line": "inf"}),
    ],
)
def test_absurd_numbers_in_a_link_give_the_default(page, query):
    assert stats(opened(page, **query)) == stats(opened(page, **({"fill": query["fill"]} if "fill" in query else {})))


def test_the_table_of_probabilities_adds_up_in_the_readers_digits():
    for language, sign in (("en", "."), ("es", ",")):
        app = opened("ctc", target="A B C", length="9", fill="random", lang=language)
        table = next(one.value for one in app.dataframe if "A" in one.value)
        assert all(re.fullmatch(rf"[01]{re.escape(sign)}\d{{3}}", value) for value in table.to_numpy().ravel())
        assert {sum(int(value.replace(sign, "")) for value in row) for row in table.to_numpy()} == {1000}


def test_a_full_table_stays_full_when_a_sentence_grows():
    app = opened("metrics", ref="A B C", hyp="A B C")
    for hypothesis, size in (("A", 8), ("A B C D", 20)):
        app.text_area(key="hyp").set_value(hypothesis).run()
        assert app.slider(key="filled").value == app.slider(key="filled").max == size
    app.slider(key="filled").set_value(5).run()
    app.text_area(key="hyp").set_value("A B C D E").run()
    assert app.slider(key="filled").value == 5


def test_a_long_sentence_is_scored_without_its_table():
    app = opened("metrics", ref=" ".join(["A"] * 60), hyp=" ".join(["A"] * 45 + ["B"] * 15))
    assert not app.exception
    assert stats(app)["WER"] == "25.0%"
    assert stats(app)["ROUGE-L F"] == "75.00%"
    assert "60 words" in text(app)


def test_each_line_is_a_sentence_of_the_corpus():
    app = opened("metrics", ref="A B C\nD", hyp="A B\nX Y", line="2")
    shown = stats(app)
    assert (shown["WER"], shown["Words N"], shown["Insertions I"]) == ("75.0%", "4", "1")  # one line would give 2 of 4
    assert app.slider(key="line").value == 2
    app = opened("metrics", ref="A\nB", hyp="A")
    assert "The reference has 2 sentences and the hypothesis 1" in app.error[0].value
    assert "WER" not in stats(app)


def test_an_empty_sentence_among_others_has_no_score_of_its_own():
    app = opened("metrics", ref="X\nA B C D", hyp="\nA B C D")
    assert stats(app)["BLEU-4"] == "77.88%" and "BLEU is of all sentences" in text(app)
