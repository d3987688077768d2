"""Computes what the front page shows with the shipped models, and writes `assets/front.json`: `python -m scripts.front_page`.

Run it after a checkpoint or the lecture changed (a test says when); the hand finder must be there (`make hands`).
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, Final

import numpy as np

from core.device import use_one_thread
from core.figures.film import hands_of_frames
from core.front import FILE, HEAD
from core.lecture.attention_steps import random_weights, steps
from core.lecture.tokens import embed, split_words
from core.market.answers.naive import momentum_calls
from core.market.book import STEP_MS
from core.market.labels import classify, moves_after
from core.market.predictor import load_predictor, windows_of
from core.market.store.index import find_recording
from core.market.store.rows import read_market
from core.signs import video
from core.signs.recogniser import HANDS, load_recogniser
from core.signs.samples import clip_samples
from core.vision.analysis import analyse
from core.vision.classifier import PHOTOGRAPHS, load_classifier
from core.vision.evidence import losses_without
from core.vision.gallery import photograph_gallery
from core.vision.lit_answer import lit_answer
from core.vision.pictures import decode, from_pixels
from core.vision.preprocessing import Recipe
from core.vision.sight import sight_reader
from core.vision.uprightness import prepare_upright
from pages.markets.live_controls import OPENS_WITH
from pages.shared import language

ROWS: Final = 480
"""Two minutes of the recording."""
PHOTOGRAPH: Final = 13
"""A dress, by its place among the bundled photographs."""
CLIP: Final = 0
"""The first of the bundled clips."""
SENTENCE: Final = "the cat sat on the mat"
WIDTH: Final = 4
"""Words and width with which the lesson on attention opens."""
TEMPERATURES: Final = tuple(round(0.1 * 10 ** (step / 12), 2) for step in range(25))
"""From 0.1 to 10."""


def market() -> dict[str, Any]:
    """The first minutes of the recording that the live page opens with.

    Classes by number: what TLOB and momentum call, and what came (-1 where it came after the end).
    """
    predictor, of = load_predictor(), find_recording(OPENS_WITH)
    rows = read_market(of.paths)
    entry, head = predictor.market(of.market), predictor.head("forward", HEAD[1])
    ends = np.arange(predictor.window - 1, predictor.window - 1 + ROWS)
    answer = predictor.predict(windows_of(rows.levels, ends, predictor.window), entry)
    came = classify(moves_after(rows, predictor.heads[head]), entry.alphas[head])[ends]
    came[ROWS - HEAD[1] :] = -1
    calls = answer.calls[:, head]
    return {
        "recording": of.name,
        "symbol": of.market,
        "start_ms": int(rows.timestamps[ends[0]]),
        "step_ms": STEP_MS,
        "horizon": HEAD[1],
        "mids": [round(float(mid), 4) for mid in rows.mid[ends]],
        "calls": calls.tolist(),
        "momentum": momentum_calls(rows, predictor.heads, entry.alphas)[ends, head].tolist(),
        "truths": came.tolist(),
    }


def photograph() -> dict[str, Any]:
    """A photograph lit by what stands out, its answer, and what that loses without each patch. Needs `make sight`."""
    classifier, row = load_classifier(PHOTOGRAPHS), photograph_gallery()[PHOTOGRAPH]
    prepared = prepare_upright(classifier, decode(row.data, name=row.kind), Recipe(manner=classifier.manner))
    analysis = analyse(classifier, prepared.image, prepared.unturned)
    seen = sight_reader().read(from_pixels(prepared.upright, name=row.kind), side=224)
    losses = losses_without(analysis, analysis.likeliest).round(6).tolist()  # for the page that opens with it
    known = {"photo": PHOTOGRAPH, "labelled": row.name, "made_by": classifier.fingerprint, "losses": losses}
    return known | lit_answer(analysis, prepared, prepared.upright, seen)


def signs() -> dict[str, Any]:
    """A clip's picture in the middle of each sign that is read, with the hands found there (21 points, shares of the picture)."""
    clip, recogniser = clip_samples()[CLIP], load_recogniser(HANDS)
    footage = video.read_video(clip.path.read_bytes(), size=recogniser.image_size, fps=recogniser.fps)
    answer = recogniser.answer(footage.frames, footage.seconds)
    assert answer.hands is not None
    middles = [(first + last) // 2 for _gloss, first, last in answer.spans]
    hands = hands_of_frames(answer.hands, recogniser.image_size)
    return {
        "clip": clip.name,
        "signed": list(clip.glosses),
        "read": list(answer.greedy),
        "frames": [
            {"gloss": span[0], "hands": hands[at], "picture": b64encode(picture).decode()}
            for span, at, picture in zip(answer.spans, middles, video.sheet(footage.frames, middles), strict=True)
        ],
    }


def lecture(sentence: str) -> dict[str, Any]:
    """Attention weights (percent) of the lesson's own words at every temperature of its dial."""
    words = split_words(sentence)
    x, weights = embed(words, WIDTH), random_weights(WIDTH)
    at = [steps(x, weights, temperature=float(one)).weights[0] for one in TEMPERATURES]
    return {"words": words, "temperatures": list(TEMPERATURES), "weights": [np.round(100 * one, 1).tolist() for one in at]}


def compute() -> dict[str, Any]:
    """Everything that the file holds."""
    use_one_thread()
    return {
        "market": market(),
        "photograph": photograph(),
        "signs": signs(),
        "lecture": {code: lecture(language.catalogue(code).gettext(SENTENCE)) for code in language.LANGUAGES},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute(), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
