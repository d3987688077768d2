"""A book, a photograph and a film for the lecture's eighth stop, and what the three networks look at in them."""

import io
from base64 import b64encode
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.market.predictor import load_predictor, windows_of
from core.market.reasons import GROUPS, UsualInputs, window_reasons
from core.market.store.index import find_recording
from core.market.store.rows import read_market
from core.signs import video
from core.signs.recogniser import HANDS, load_recogniser
from core.signs.samples import clip_samples
from core.vision.seen_samples import sample
from core.vision.sight import sight_reader

RECORDING: Final = "binance_spot_btcusdt_2024-08-08"
WINDOW_AT: Final = 1200
"""Row of the recording at which the window ends."""
PHOTOGRAPH: Final = "astronaut"
FRAMES: Final = 12


def webp(pixels: NDArray[np.uint8]) -> str:
    """A picture in base 64."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "webp", quality=70)
    return b64encode(out.getvalue()).decode()


def book() -> dict[str, Any]:
    """A window of TLOB: resting sizes, the answer's row of attention, and what each named group of inputs did to the answer."""
    predictor, of = load_predictor(), find_recording(RECORDING)
    rows, entry, head = read_market(of.paths), predictor.market(of.market), predictor.head("forward", 50)
    usual = UsualInputs(predictor, entry)
    usual.follow(rows.timestamps[: WINDOW_AT + 1], rows.levels[: WINDOW_AT + 1])
    mean = usual.mean()
    assert mean is not None
    window = windows_of(rows.levels, [WINDOW_AT], predictor.window)[0]
    reasons = window_reasons(predictor, entry, window, mean, head=head, recalibrate=list)
    probabilities, maps = predictor.attention(predictor.inputs(window[None], entry), entry)
    name = [one for one in maps if one.startswith("time")][-1]
    sizes = np.log1p(np.concatenate([window[:, 1::4][:, ::-1], window[:, 3::4]], axis=1))
    return {
        "market": of.market,
        "probabilities": np.round(probabilities[head], 4).tolist(),
        "lean": round(reasons.lean, 4),
        "gives": dict(zip(GROUPS, np.round(reasons.gives, 4).tolist(), strict=True)),
        "picture": webp(np.round(255 * sizes / sizes.max()).astype(np.uint8).T.repeat(16, axis=0).repeat(4, axis=1)),
        "looks": np.round(maps[name].mean(axis=0)[-1], 5).tolist(),
    }


def photograph() -> dict[str, Any]:
    """A photograph and what the class token looks at in each of the last layer's heads; the share on what stands out."""
    seen = sight_reader().read(sample(PHOTOGRAPH))
    rows = seen.weights[-1, :, 0, 1:]
    rows = rows / rows.sum(axis=1, keepdims=True)
    thing = seen.patch_salience.ravel() > 0.5
    return {
        "picture": webp(seen.pixels),
        "area": round(float(thing.mean()), 4),
        "on_thing": np.round(rows[:, thing].sum(axis=1), 4).tolist(),
        "heads": [np.round(255 * one / one.max()).astype(int).reshape(seen.grid).tolist() for one in rows],
    }


def film() -> dict[str, Any]:
    """Frames of a clip, and what the surest frame of each sign looks at."""
    clip, recogniser = clip_samples()[0], load_recogniser(HANDS)
    footage = video.read_video(clip.path.read_bytes(), size=recogniser.image_size, fps=recogniser.fps)
    answer = recogniser.answer(footage.frames, footage.seconds)
    weights: NDArray[np.float32] = list(answer.attention.values())[-1].mean(axis=0)
    places = np.linspace(0, len(footage.frames) - 1, FRAMES).round().astype(int)
    frames = len(weights)
    return {
        "signed": list(clip.glosses),
        "pictures": [b64encode(one).decode() for one in video.sheet(footage.frames, places.tolist())],
        "seconds": np.round(answer.seconds, 2).tolist(),
        "shown": (places * frames // len(footage.frames)).tolist(),
        "glosses": [
            {"gloss": answer.names[one.label], "peak": one.peak, "looks": np.round(weights[one.peak], 4).tolist()}
            for one in answer.glosses
        ],
    }


def compute() -> dict[str, Any]:
    """All three."""
    return {"book": book(), "photograph": photograph(), "film": film()}
