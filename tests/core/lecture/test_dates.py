"""The date task: formats, splits, conventions, and decoding against plain loops over the model."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch
from babel.dates import get_day_names, get_month_names

from core import checkpoints
from core.checkpoints import CheckpointError
from core.lecture import dates, decoding
from core.lecture.date_reader import DateReader, ReadingError
from core.lecture.dates import BEGIN, END, PAD, SYMBOLS
from core.models.transformer import Transformer, TransformerConfig


def test_names_are_babels() -> None:
    for code in ("en", "es"):
        months, days = get_month_names("wide", locale=code), get_day_names("wide", locale=code)
        assert list(dates.MONTHS[code]) == [dates.normalise(months[number]) for number in range(1, 13)]
        assert list(dates.WEEKDAYS[code]) == [dates.normalise(days[number]) for number in range(7)]


@pytest.mark.parametrize(("pattern", "language", "written"), [
    ("{weekday}, {d} de {month} de {yyyy}", "es", "jueves, 3 de mayo de 1979"),
    ("{wkd} {ord} {mon} '{yy}", "en", "thu 3rd may '79"),
    ("{dd}/{mm}/{yyyy}", "numeric", "03/05/1979"),
    ("{yyyy}{mm}{dd}", "numeric", "19790503"),
    ("{month} the {ord}, {yyyy}", "en", "may the 3rd, 1979"),
])  # fmt: skip
def test_a_day_is_written(pattern: str, language: dates.Language, written: str) -> None:
    assert dates.format_date(date(1979, 5, 3), pattern, language) == written


def test_special_words() -> None:
    assert dates.format_date(date(2001, 9, 1), "{prim} de {month}", "es") == "primero de septiembre"
    assert dates.format_date(date(2001, 9, 1), "{mon}", "es", long_september=True) == "sept"
    assert [dates.ordinal(day) for day in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st",
    ]  # fmt: skip


def test_what_is_typed_is_normalised() -> None:
    assert dates.normalise("  Sábado,  3 DE MAYO de 1979 ") == "sabado, 3 de mayo de 1979"
    assert dates.normalise("3\u20135\u20131979") == "3-5-1979" and dates.normalise("May 3 \u201979") == "may 3 '79"
    assert dates.normalise("1.º de mayo") == "1.o de mayo"


def test_symbols_there_and_back() -> None:
    text = "the 3rd, of may. '79 / 1-2:3"
    assert dates.decode_text(dates.encode_text(text)) == text
    assert dates.decode_text([BEGIN, *dates.encode_text("ab"), END, *dates.encode_text("c")]) == "ab"
    assert dates.encode_text("ñ€") == [dates.UNKNOWN] * 2
    assert dates.padded(["ab", "a"])[1][1] == PAD
    assert len(set(SYMBOLS)) == len(SYMBOLS) == 47


def test_parts_share_no_day_and_no_format() -> None:
    days = [set(dates.days_of(part, 0)) for part in ("train", "validation", "test")]
    formats = [set(dates.bodies_of(part, 0)) for part in ("train", "validation", "test")]
    for sets in (days, formats):
        assert not (sets[0] & sets[1] or sets[0] & sets[2] or sets[1] & sets[2])
    assert sum(map(len, days)) == (date(2099, 12, 31) - date(1900, 1, 1)).days + 1
    assert set().union(*formats) == {(language, body) for language, bodies in dates.BODIES.items() for body in bodies}
    known = {
        language: set().union(*(dates.format_fields(b) for one, b in formats[0] if one == language)) for language in dates.BODIES
    }
    for language, body in formats[1] | formats[2]:
        assert dates.format_fields(body) <= known[language], "training has every piece of a held-out format"


def test_samples_keep_their_part_and_their_conventions() -> None:
    for part in ("train", "validation", "test"):
        pairs = dates.sample_pairs(part, 800, seed=0)
        assert pairs == dates.sample_pairs(part, 800, seed=0) != dates.sample_pairs(part, 800, seed=0, stream=1)
        days, bodies = set(dates.days_of(part, 0)), {body for _language, body in dates.bodies_of(part, 0)}
        for pair in pairs:
            day = date.fromisoformat(pair.iso)
            assert day in days and pair.body in bodies
            assert pair.text == dates.normalise(pair.text) and dates.UNKNOWN not in dates.encode_text(pair.text)
            assert len(pair.text) <= 64
            if "{yy}" in pair.body:
                assert 1969 <= day.year <= 2068
            if pair.language == "numeric" and pair.body.startswith(("{d", "{dd")):
                numbers = [int(one) for one in "".join(c if c.isdigit() else " " for c in pair.text).split()]
                assert numbers[:2] == [day.day, day.month]


def test_rules_by_hand_read_every_format() -> None:
    """The baseline of the card; also a second opinion on what the generator writes."""
    for part in ("train", "validation", "test"):
        for pair in dates.sample_pairs(part, 600, seed=0):
            assert dates.parse_by_rules(pair.text) == pair.iso
    assert dates.parse_by_rules("hello world") == ""


def test_only_days_of_the_calendar_count() -> None:
    assert dates.is_calendar_date("2000-02-29") and not dates.is_calendar_date("1900-02-29")
    assert not dates.is_calendar_date("20000229") and not dates.is_calendar_date("")


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(vocabulary=len(SYMBOLS), width=16, heads=2, layers=1, hidden=16)).eval()


SOURCE = torch.tensor([dates.encode_text("3 de mayo de 1979")])


@pytest.fixture
def traced(model: Transformer) -> decoding.Trace:
    return decoding.trace(model, SOURCE[0].tolist(), decoding.greedy(model, SOURCE)[0])


@torch.no_grad()
def test_greedy_is_a_plain_loop_and_the_trace_is_what_each_step_saw(model: Transformer, traced: decoding.Trace) -> None:
    assert END not in traced.symbols[:-1] and (traced.symbols[-1] == END or len(traced.symbols) == decoding.STEPS)
    wide = decoding.greedy(model, torch.tensor(dates.padded(["3 de mayo de 1979", "x" * 30])))[0]
    assert list(wide) == list(traced.symbols)
    for step, symbol in enumerate(traced.symbols):
        target = torch.tensor([[BEGIN, *traced.symbols[:step]]])
        alone = model(SOURCE, target)[0, -1].double().softmax(dim=-1)
        np.testing.assert_allclose(traced.probabilities[step], alone.numpy(), atol=1e-5)
        assert traced.answered[step] == pytest.approx(float(alone[symbol]), abs=1e-5) and symbol == int(alone.argmax())
    p = traced.probabilities
    np.testing.assert_allclose(traced.entropy, -(p * np.log2(p)).sum(axis=1))
    assert set(traced.maps) == {"encoder 1", "decoder 1", "cross 1"}


def test_relevance_is_the_slope_of_scaling_an_embedding(model: Transformer, traced: decoding.Trace) -> None:
    """By finite differences: scale one character's embedding and watch the log-odds against the runner-up."""
    answer, wide = traced.symbols, model.double()
    relevance = decoding.relevance(wide, traced, 2)
    target = torch.tensor([[BEGIN, *answer[:2]]])

    @torch.no_grad()
    def odds(place: int, scale: float) -> float:
        x = wide.embedding(SOURCE).clone()
        x[0, place] *= scale
        x = wide.positions(x)
        for layer in wide.encoder:
            x, _weights = layer(x)
        logits = wide.decode(target, x)[0][0, -1]
        rest = [float(value) for number, value in enumerate(logits) if number != answer[2]]
        return float(logits[answer[2]]) - max(rest)

    for place in (0, 5, 16):
        slope = (odds(place, 1 + 1e-5) - odds(place, 1 - 1e-5)) / 2e-5
        assert relevance[place] == pytest.approx(slope, rel=1e-4, abs=1e-7)
    model.float()


@torch.no_grad()
def test_inside_a_layer_leads_to_its_output(model: Transformer, traced: decoding.Trace) -> None:
    stages = decoding.inside_layer(model, traced, "encoder", 1, 3)
    np.testing.assert_allclose(stages["N2"], model.encode(SOURCE)[0][0, 3].numpy(), atol=1e-5)
    np.testing.assert_allclose(stages["X1"], stages["input"] + stages["O"], atol=1e-6)
    stages = decoding.inside_layer(model, traced, "decoder", 1, 4)
    logits = model.out(torch.tensor(stages["N3"]))
    np.testing.assert_allclose(logits.double().softmax(dim=-1).numpy(), traced.probabilities[4], atol=1e-5)


@pytest.fixture(scope="module")
def reader() -> DateReader:
    """The shipped model."""
    if checkpoints.names("transformer") == []:
        pytest.fail("the checkpoint of the dates is missing: python -m core train dates")
    return DateReader()


@pytest.mark.parametrize(("text", "iso"), [
    ("3 de mayo de 1979", "1979-05-03"),
    ("Sábado, 3 de mayo de 1980", "1980-05-03"),
    ("May the 3rd, 1979", "1979-05-03"),
    ("03/04/1979", "1979-04-03"),
    ("1979-05-03", "1979-05-03"),
    ("31 DIC 1999", "1999-12-31"),
    ("the 12th of october, 1492", None),
])  # fmt: skip
def test_the_shipped_model_reads_dates(reader: DateReader, text: str, iso: str | None) -> None:
    found = reader.read(text)
    if iso is not None:
        assert found.answer == iso and found.is_date and found.probability > 0.5
    assert np.log(found.probability) == pytest.approx(float(np.log(found.trace.answered).sum()))


def test_digits_look_at_what_the_page_says_that_they_look_at(reader: DateReader) -> None:
    found = reader.read("3 de mayo de 1979")
    scene = found.scene(titles={})
    layer, head, _token = scene.choice.split(".")
    cross = scene.layers[int(layer)].weights[int(head)]
    looks = "".join(found.text[int(row.argmax())] for row in cross)
    assert (found.answer, looks[5:7], looks[8:10]) == ("1979-05-03", "mm", "33")
    assert scene.start == 6 and float(cross[6].max()) > 0.99


def test_the_shipped_models_card_holds_on_validation(reader: DateReader) -> None:
    pairs = dates.sample_pairs("validation", 200, seed=int(reader.card["seed"]))
    answers = decoding.greedy(reader.model, torch.tensor(dates.padded([pair.text for pair in pairs])))
    right = [dates.decode_text(one) == pair.iso for one, pair in zip(answers, pairs, strict=True)]
    assert np.mean(right) >= 0.97
    assert reader.card["metrics"]["test"]["exact_match"] >= 0.99


def test_what_cannot_be_read_is_said(reader: DateReader, tmp_path: Path) -> None:
    with pytest.raises(ReadingError, match="the text is empty"):
        reader.read("   ")
    with pytest.raises(ReadingError, match="65 characters: at most 64 are read"):
        reader.read("x" * 65)
    assert reader.read("mañana €").unknown == ("€",)
    with pytest.raises(CheckpointError):
        DateReader(folder=tmp_path)
