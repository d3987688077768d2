"""The message of a scene, read by a second reader, and what does not fit together."""

import base64
import io
import json
import re
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional as F

from attention_light import (
    AttentionScene,
    BookStage,
    FilmStage,
    GridStage,
    LayerMaps,
    LayerVectors,
    PictureStage,
    SceneError,
    WordStage,
    stages,
)
from attention_light.rollout import rollout
from attention_light.stages import as_pixels


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
    with pytest.raises(SceneError, match="the layer cross has weights"):
        AttentionScene(stage=stage, layers=[LayerMaps(name="cross", weights=maps(2, 3, 3), kind="word", of="symbol")])


def test_the_documented_tlob_and_72_heads_stay_under_400_kilobytes() -> None:
    layers = [LayerMaps(name=f"t{i}", weights=maps(1, 128, 128), kind="time") for i in range(4)]
    layers += [LayerMaps(name=f"f{i}", weights=maps(1, 40, 40), kind="channel") for i in range(4)]
    levels = np.random.default_rng(0).random((128, 40))
    titles = {"t0": "first", "rollout channel": "of channels"}
    message = AttentionScene(stage=BookStage(levels=levels, channels=40), layers=layers, titles=titles).packed()
    assert len(message) < 400_000
    named = [one["title"] for one in opened(message)[0]["layers"]]
    assert named == ["first", "t1", "t2", "t3", "f0", "f1", "f2", "f3", "rollout", "of channels"]
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
    stage = FilmStage(frames=frames, seconds=np.arange(5) / 2, captions=[("7", 1, 3)], notes=list("abcde"), rests=[0, 0, 1, 1, 1])
    film = AttentionScene(stage=stage, layers=[LayerMaps(name="a", weights=maps(1, 5, 5))])
    head, _ = opened(film.packed())
    assert head["stage"]["captions"] == [["7", 1, 3]] and head["stage"]["rests"] == [0, 0, 1, 1, 1]
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
    with pytest.raises(SceneError, match=re.escape(sentence)):
        AttentionScene(stage=WordStage(words=list("abc")), layers=layers, measures=measures)


def words(layer: LayerMaps | LayerVectors, count: int = 3) -> AttentionScene:
    return AttentionScene(stage=WordStage(words=["w"] * count), layers=[layer])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.full((2, 3, 3), 5.0, np.float32), "sums to 15"),
        (maps(2, 3, 3) * 0.9, "sums to 0.9:"),
        (np.zeros((1, 3, 3)), "sums to 0:"),
        (np.where(np.eye(3) > 0, np.nan, 0.5)[None], "no numbers: 3"),
        (np.array([[[1.5, -0.5, 0], [1, 0, 0], [0, 1, 0]]]), "a weight of -0.5"),
    ],
)
def test_weights_that_are_no_shares_are_refused_with_what_they_sum_to(weights: np.ndarray, sentence: str) -> None:
    with pytest.raises(SceneError, match=re.escape(sentence)):
        words(LayerMaps(name="l", weights=weights))


def test_a_query_that_may_look_at_nothing_has_a_row_of_zeros_and_coarse_numbers_are_rounded() -> None:
    blank = maps(2, 3, 3)
    blank[0, 1] = 0
    words(LayerMaps(name="l", weights=blank))
    words(LayerMaps(name="l", weights=maps(2, 300, 300).astype(np.float16)), 300)


def test_vectors_give_the_maps_of_torchs_own_attention() -> None:
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(4, 6, 8, generator=generator), torch.randn(2, 6, 8, generator=generator)
    bias = torch.randn(6, 6, generator=generator).masked_fill(torch.eye(6) > 0, -torch.inf)
    options = {"enable_gqa": True, "scale": 0.7}
    values = torch.eye(6).expand(1, 2, 6, 6)  # what is mixed of unit vectors is the weights
    for causal, added in ((True, None), (False, bias)):
        want = F.scaled_dot_product_attention(q[None], k[None], values, added, is_causal=causal, **options)[0]
        layer = LayerVectors(
            name="l",
            queries=q.numpy(),
            keys=k.numpy(),
            scale=0.7,
            causal=causal,
            bias=None if added is None else added[None].numpy(),
        )
        words(layer, 6)
        np.testing.assert_allclose(layer.weights, want.numpy(), atol=1e-5)
        np.testing.assert_array_equal(layer.of_heads([3, 0]).weights, layer.weights[[3, 0]])
    with pytest.raises(SceneError, match="fit each other"):
        words(LayerVectors(name="l", queries=q.numpy(), keys=np.zeros((3, 6, 8))), 6)


def large(*, layers: int = 12, heads: int = 6, seed: int = 0) -> AttentionScene:
    """577 tokens, of which one is no patch; keys have a large channel in common, as those of trained networks have."""
    numbers = np.random.default_rng(seed)
    vectors = [
        LayerVectors(
            name=f"layer {i + 1}",
            queries=2 * numbers.normal(size=(heads, 577, 64)).astype(np.float32),
            keys=(2 * numbers.normal(size=(heads, 577, 64)) + 40 * (np.arange(64) == 5)).astype(np.float32),
        )
        for i in range(layers)
    ]
    pixels = numbers.integers(0, 255, (336, 336, 3), dtype=np.uint8)
    return AttentionScene(stage=PictureStage(pixels=pixels, grid=(24, 24), extra=["class"]), layers=vectors)


def test_72_heads_of_577_tokens_begin_with_less_than_a_megabyte_and_their_rows_come_within_two_thousandths() -> None:
    scene = large()
    first = scene.packed()
    head, array = opened(first)
    assert len(first) <= 1_000_000 and [one["part"] for one in head["layers"]] == list(range(13))
    layer = scene.layers[4]
    said = scene.worded(answer="a cat")
    assert opened(said.packed())[0] == head | {"answer": "a cat"} and said.parts is scene.parts
    part, numbers = opened(scene.parts[4])
    q, k, norms = (numbers(part[name]) for name in ("queries", "keys", "norms"))
    assert q.dtype == np.float16 and not part["causal"] and part["bias"] is None
    rows = np.exp(q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1) - norms[..., None])
    torchs = torch.from_numpy(layer.queries) @ torch.from_numpy(layer.keys).transpose(1, 2) / 8
    np.testing.assert_allclose(rows, torchs.softmax(-1).numpy(), atol=2e-3)
    thin = {name: array(place) for name, place in head["layers"][4]["thin"].items()}
    assert thin["light"].shape == (7, thin["queries"].max() + 1, thin["keys"].max() + 1)
    block = rows[2][thin["queries"] == 3].mean(axis=0)  # of a few queries, over blocks of keys
    means = np.sqrt([block[thin["keys"] == i].mean() for i in range(thin["keys"].max() + 1)])
    np.testing.assert_allclose(thin["light"][2, 3], 255 * means / means.max(), atol=2)
    rolled, numbers = opened(scene.parts[12])
    np.testing.assert_allclose(numbers(rolled["weights"])[0], rollout([one.weights for one in scene.layers]), atol=1e-3)


def test_queries_and_keys_that_float16_would_change_travel_as_float32() -> None:
    numbers = np.random.default_rng(0)
    keys = 30 * numbers.choice([-1, 1], size=(1, 40, 1)) * numbers.normal(size=8) + 0.05 * numbers.normal(size=(1, 40, 8))
    layer = LayerVectors(name="l", queries=20 * numbers.normal(size=(1, 40, 8)), keys=keys)
    assert {one.dtype for one in layer.rounded} == {np.dtype(np.float32)}


def test_a_file_holds_the_layers_that_fit(tmp_path: Path) -> None:
    scene = large(layers=3, heads=2)
    whole, some = scene.save(tmp_path / "whole.html"), scene.save(tmp_path / "some.html", megabytes=1)
    parts = [re.search(r"mountText\(.*, (\[.*\])\);", one.read_text(encoding="utf-8")) for one in (whole, some)]
    held = [[one is not None for one in json.loads(found[1])] for found in parts if found]
    assert held == [[True] * 4, [True, True, False, False]] and some.stat().st_size < whole.stat().st_size - 1_000_000


def test_floats_from_0_to_1_are_a_picture_and_others_are_refused() -> None:
    floats = np.linspace(0, 1, 3 * 8 * 10, dtype=np.float32).reshape(3, 8, 10)
    np.testing.assert_array_equal(as_pixels(torch.from_numpy(floats)), np.round(np.moveaxis(floats, 0, -1) * 255))
    for wrong in (floats * 2, floats - 0.5, np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4), np.int64)):
        with pytest.raises(ValueError, match="a picture is"):
            as_pixels(wrong)


@pytest.mark.parametrize(("shape", "step"), [((300, 200, 3), 3), ((5, 7), 1)])
def test_without_pillow_a_picture_is_a_png_as_pillow_reads_it(
    shape: tuple[int, ...], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "PIL", None)
        file = stages._picture(pixels, longest=100)
    np.testing.assert_array_equal(
        np.asarray(Image.open(io.BytesIO(file))), pixels[:: 3 if shape[0] > 100 else 1, :: 3 if shape[0] > 100 else 1]
    )


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
    packed = re.findall(r'mountText\("([A-Za-z0-9+/=]+)", \[\]\)', text)
    assert base64.b64decode(packed[0]) == scene.packed()
    assert "srcdoc" in scene._repr_html_()
