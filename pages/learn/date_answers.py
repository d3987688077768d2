"""Answers of the date model, computed once for all viewers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from core.device import use_one_thread
from core.figures.learn.transformer import visible
from core.lecture import dates
from core.lecture.date_reader import DateReader, DateReading, random_texts
from core.lecture.decoding import DateHypothesis, inside_decoder_layer, inside_encoder_layer
from pages.shared.language import _, number, percent

SAMPLES = 150
"""Texts of each kind in the histogram of certainty."""


@st.cache_resource(show_spinner=False)
def reader(folder: str) -> DateReader:
    """The shipped model.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    return DateReader(folder=Path(folder))


@st.cache_data(show_spinner=False, max_entries=256)
def read(folder: str, text: str) -> DateReading:
    """Greedy decoding with its maps and probabilities.

    Raises:
        ReadingError: for a text the model cannot take.
    """
    use_one_thread()
    return reader(folder).read(text)


@st.cache_data(show_spinner=False, max_entries=256)
def beams(folder: str, text: str, width: int) -> list[list[DateHypothesis]]:
    """The beam after each step."""
    use_one_thread()
    return reader(folder).beams(text, width)


@st.cache_data(show_spinner=False, max_entries=512)
def relevance(folder: str, text: str, step: int) -> Any:
    """Gradient times input, one number per character read."""
    return reader(folder).relevance(read(folder, text), step)


@st.cache_data(show_spinner=False, max_entries=256)
def inside(folder: str, text: str, side: str, layer: int, position: int) -> dict[str, Any]:
    """The stages of one vector on its way through a layer, by the report's names."""
    one, reading = reader(folder), read(folder, text)
    if side == "encoder":
        return dict(inside_encoder_layer(one.model, list(reading.trace.source), layer, position))
    return dict(inside_decoder_layer(one.model, reading.trace, layer, position))


@st.cache_data(show_spinner=False)
def certainty(folder: str) -> tuple[Any, Any]:
    """Probabilities of the answers to held-out dates of the validation part, and to random characters."""
    one = reader(folder)
    seed = int(one.card["seed"])
    held_out = [pair.text for pair in dates.sample_pairs("validation", SAMPLES, seed=seed)]
    return one.certainty(held_out), one.certainty(random_texts(SAMPLES))


def symbol_captions(reading: DateReading, cross: Any) -> list[str]:
    """For each symbol of the answer: what was written, what comes next and what it looked at."""
    text = visible(list(reading.text))
    return [
        _("{so_far} + “{symbol}” ({probability}), looking most at “{character}” ({weight})").format(
            so_far="▷" + "".join(reading.characters[:step]),
            symbol=symbol,
            probability=percent(reading.symbol_probabilities[step], 1),
            character=text[int(cross[step].argmax())],
            weight=number(float(cross[step].max()), 2),
        )
        for step, symbol in enumerate(reading.characters)
    ]
