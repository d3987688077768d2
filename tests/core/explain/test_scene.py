"""The message of a scene, read by a second reader, and what does not fit together."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.explain.rollout import rollout
from core.explain.scene import AttentionScene, BookStage, FilmStage, GridStage, LayerMaps, PictureStage, WordStage
from core.messages import BadValue


def maps(*shape: int, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).random(shape)
    return weights / weights.sum(axis=-1, keepdims=True)


def opened(message: bytes) -> tuple[dict[str, Any], Any]:
    """The head, and a reader of an array by its place."""
    (length,) = struct.unpack_from("<I", message)
    assert (4 + length) % 8 == 0  # float64 arrays behind it are aligned

    def array(place: dict[str, Any]) -> np.ndarray:
        start = 4 + length + place["at"]
        assert start % 8 == 0
        return np.frombuffer(message[start : start + place["bytes"]], place["type"]).reshape(place["shape"])

    return json.loads(message[4 : 4 + length]), array


def test_weights_travel_as_float16_and_the_rollout_is_beside_them() -> None:
    weights = [maps(4, 6, 6, seed=1), maps(4, 6, 6, seed=2)]
    layers = [LayerMaps(name=f"layer {i}", weights=one) for i, one in enumerate(weights)]
    scene = AttentionScene(stage=WordStage(words=list("abcdef")), layers=layers, start=2, measures={"relevance": np.arange(6.0)})
    head, array = opened(scene.packed({"rollout": "Recorrido"}, locale="es", key="light"))
    for entry, one in zip(head["layers"], weights, strict=False):
        np.testing.assert_array_equal(array(entry["weights"]), one.astype(np.float16))
    assert head["layers"][2]["name"] == "rollout" and head["words"]["rollout"] == "Recorrido"
    np.testing.assert_array_equal(array(head["layers"][2]["weights"])[0], rollout(weights).astype(np.float16))
    np.testing.assert_array_equal(array(head["measures"][0]["shares"]), np.arange(6.0, dtype=np.float32))
    assert (head["start"], head["key"], head["locale"]) == (2, "light", "es") and head["tokens"]["word"][1] == "“b”"


def test_an_answers_symbols_look_at_the_words_and_at_those_before_them() -> None:
    stage = WordStage(words=["3", " ", "m"], answer=["▷", "0", "3"])
    layers = [
        LayerMaps(name="own", weights=maps(2, 2, 2), kind="past", of="symbol"),
        LayerMaps(name="cross", weights=maps(2, 2, 3), kind="word", of="symbol"),
    ]
    head, array = opened(AttentionScene(stage=stage, layers=layers, rolled=False).packed())
    assert head["tokens"] == {"word": ["“3”", "“␣”", "“m”"], "symbol": ["“0”", "“3”"], "past": ["“▷”", "“0”"]}
    assert head["stage"]["answer"] == ["▷", "0", "3"] and array(head["layers"][1]["weights"]).shape == (2, 2, 3)
    with pytest.raises(BadValue, match="the layer cross has weights"):
        AttentionScene(stage=stage, layers=[LayerMaps(name="cross", weights=maps(2, 3, 3), kind="word", of="symbol")])


def test_the_documented_tlob_and_72_heads_stay_under_400_kilobytes() -> None:
    layers = [LayerMaps(name=f"t{i}", weights=maps(1, 128, 128), kind="time") for i in range(4)]
    layers += [LayerMaps(name=f"f{i}", weights=maps(1, 40, 40), kind="channel") for i in range(4)]
    levels = np.random.default_rng(0).random((128, 40))
    assert len(AttentionScene(stage=BookStage(levels=levels, channels=40), layers=layers).packed()) < 400_000
    layers = [LayerMaps(name=str(i), weights=maps(12, 32, 32)) for i in range(6)]
    words = AttentionScene(
        stage=WordStage(words=["w"] * 32), layers=[LayerMaps(name=str(i), weights=maps(12, 32, 32)) for i in range(6)]
    )
    assert len(words.packed()) < 400_000


def test_a_picture_and_a_film_come_back_out_of_the_message() -> None:
    pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    pixels[:, :30] = 200
    scene = AttentionScene(
        stage=PictureStage(pixels=pixels, grid=(2, 3), extra=["class"]), layers=[LayerMaps(name="a", weights=maps(2, 7, 7))]
    )
    message = scene.packed()
    head, _ = opened(message)
    place, length = head["stage"]["picture"], struct.unpack_from("<I", message)[0]
    start = 4 + length + place["at"]
    image = Image.open(io.BytesIO(message[start : start + place["bytes"]]))
    np.testing.assert_array_equal(np.asarray(image), pixels)
    assert head["tokens"]["patch"][:2] == ["class", "the patch in row 1, column 1"]
    frames = np.arange(5, dtype=np.uint8)[:, None, None, None] * np.ones((1, 8, 8, 3), dtype=np.uint8) * 50
    stage = FilmStage(frames=frames, seconds=[0, 0.5, 1, 1.5, 2], said=[("7", 1, 3)], notes=list("abcde"), rests=[0, 0, 1, 1, 1])
    film = AttentionScene(stage=stage, layers=[LayerMaps(name="a", weights=maps(1, 5, 5))])
    head, _ = opened(film.packed())
    assert head["stage"]["said"] == [["7", 1, 3]] and head["stage"]["rests"] == [0, 0, 1, 1, 1]
    assert head["stage"]["columns"] * head["stage"]["rows"] >= 5 and head["tokens"]["frame"][1] == "frame 2 (0.50 s)"


def test_cross_attention_lights_other_tokens_than_those_that_look() -> None:
    layer = LayerMaps(name="cross", weights=maps(2, 3, 5), kind="key", of="cell")
    head, _ = opened(AttentionScene(stage=GridStage(names="abc", columns=3, keys="vwxyz"), layers=[layer]).packed())
    assert [head["layers"][0][name] for name in ("kind", "of")] == ["key", "cell"] and len(head["layers"]) == 1


@pytest.mark.parametrize(
    ("layers", "measures", "sentence"),
    [
        ([], {}, "no layers"),
        ([LayerMaps(name="a", weights=maps(2, 4, 4))], {}, "heads x 3 x 3"),
        ([LayerMaps(name="a", weights=maps(3, 3))], {}, "heads x 3 x 3"),
        ([LayerMaps(name="a", weights=maps(1, 3, 3))], {"m": np.ones(4)}, "one share for each of 3 tokens"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(layers: list[LayerMaps], measures: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadValue, match=re.escape(sentence)):
        AttentionScene(stage=WordStage(words=list("abc")), layers=layers, measures=measures)


def test_the_file_of_its_own_holds_the_message_and_ends_no_script_early(tmp_path: Path) -> None:
    scene = AttentionScene(
        stage=WordStage(words=["<b>", "b"]), layers=[LayerMaps(name="a", weights=maps(1, 2, 2))], answer="<script>"
    )
    text = scene.save(tmp_path / "view.html").read_text(encoding="utf-8")
    assert (
        text.count("</script>") == 1
        and "<title>&lt;script&gt;</title>" in text
        and "import " not in text.split("<script")[1][:50]
    )
    packed = re.findall(r'const text = atob\("([A-Za-z0-9+/=]+)"\)', text)
    assert base64.b64decode(packed[0]) == scene.packed()
    assert "srcdoc" in scene._repr_html_()
