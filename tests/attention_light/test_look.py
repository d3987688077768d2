"""`look` in each of its forms, beside the maps that were given or that PyTorch's own layers return."""

import base64
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

from attention_light import AttentionScene, LayerMaps, SceneError, WordStage, capture, look
from attention_light.look import grown
from attention_light.notebook import LightView
from tests.attention_light.test_scene import maps

WORDS = ["a", "b", "c", "d", "e"]


WEIGHTS = maps(2, 3, 5, 5)


@pytest.mark.parametrize(
    "form",
    [
        WEIGHTS,
        list(WEIGHTS),
        [torch.from_numpy(one)[None].bfloat16() for one in WEIGHTS],
        SimpleNamespace(attentions=tuple(torch.from_numpy(one)[None] for one in WEIGHTS)),
        {
            "hook_embed": torch.ones(5, 8),
            **{f"blocks.{i}.attn.hook_pattern": torch.from_numpy(WEIGHTS[i])[None] for i in range(2)},
        },
        {f"layer.{i}": SimpleNamespace(value=torch.from_numpy(WEIGHTS[i])) for i in range(2)},
        [LayerMaps(name=f"l{i}", weights=one) for i, one in enumerate(WEIGHTS)],
    ],
)
def test_whatever_holds_maps_becomes_the_same_view(form: Any) -> None:
    view = look(form, WORDS)
    assert isinstance(view, LightView) and view.scene.stage == WordStage.of_pieces(WORDS)
    np.testing.assert_allclose([one.weights for one in view.scene.layers], WEIGHTS, atol=4e-3)
    far = np.abs(np.subtract.outer(range(5), range(5))) > 1
    layer, head, query = (int(one[0]) for one in np.nonzero(WEIGHTS * far == (WEIGHTS * far).max())[:3])
    assert (view.layer, view.head, view.token, view.erased) == (layer, head, query, [])


def test_an_item_is_picked_and_that_there_are_more_is_said() -> None:
    batch = [torch.from_numpy(WEIGHTS)]
    np.testing.assert_allclose(look(batch, batch=1).scene.layers[0].weights, WEIGHTS[1], atol=1e-6)
    with pytest.warns(RuntimeWarning, match="item 0 of 2"):
        look(batch)
    with pytest.raises(SceneError, match="batch=2 is none of them"):
        look(batch, batch=2)


def test_layers_and_heads_are_chosen_and_much_is_said() -> None:
    (kept,) = look(WEIGHTS, layers=[1], heads=[0, 2]).scene.layers
    np.testing.assert_array_equal(kept.weights, WEIGHTS[1, [0, 2]])
    with pytest.raises(SceneError, match="there are layer 1, layer 2"):
        look(WEIGHTS, layers=["third"])
    with pytest.warns(RuntimeWarning, match="carries 20 MB: layers= and heads="):
        look(np.full((40, 1, 500, 512), 1 / 512, dtype=np.float16)[:, :, :500, :], answer=[str(i) for i in range(501)])


@pytest.mark.parametrize(
    ("given", "tokens", "sentence"),
    [
        (WEIGHTS * 2, None, "sums to 2:"),
        (WEIGHTS, "a b c", "3 tokens are given, and the maps are of 5"),
        ([maps(2, 3, 3), maps(2, 4, 4)], None, "several sizes, 3 x 3 in 1, 4 x 4 in 1"),
        (SimpleNamespace(attentions=None), None, "output_attentions=True"),
    ],
)
def test_what_is_no_map_is_refused_with_what_would_be(given: Any, tokens: Any, sentence: str) -> None:
    with pytest.raises(SceneError, match=sentence):
        look(given, tokens)


def test_a_model_runs_once_without_dropout_and_is_as_before() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.5, batch_first=True), 2)
    x = torch.randn(1, 5, 16)
    with pytest.warns(RuntimeWarning, match="training mode: it ran without dropout"):
        scene = look(model, x, tokens=WORDS).scene
    assert model.training and [one.name for one in scene.layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    with torch.no_grad(), capture(model.eval()) as layers:
        model(x)
    np.testing.assert_allclose(scene.layers[1].weights, layers[1].weights, atol=1e-6)
    tokenizer = SimpleNamespace(convert_ids_to_tokens=lambda ids: [f"##{one}" for one in ids])
    model = nn.Sequential(nn.Embedding(9, 16), model).eval()
    assert look(model, torch.tensor([[3, 1, 4]]), tokens=tokenizer).scene.stage.joined == [False, True, True]


class Patches(nn.Module):
    """A vision transformer in small: a class token, patches of 8 pixels, one attention."""

    def __init__(self) -> None:
        super().__init__()
        self.image_size = 32
        self.cut = nn.Conv2d(3, 8, 8, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.cut(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([patches.mean(dim=1, keepdim=True), patches], dim=1)
        return self.attention(tokens, tokens, tokens)[0]


@pytest.mark.parametrize("picture", [Image.new("RGB", (60, 40), "red"), np.zeros((32, 32)), torch.rand(1, 3, 32, 32)])
def test_a_picture_is_the_stage_of_a_vision_model(picture: Any) -> None:
    stage = look(Patches().eval(), picture).scene.stage
    assert (stage.name, stage.grid, list(stage.extra), stage.pixels.shape[:2]) == ("picture", (4, 4), ["class token"], (32, 32))


class Decoder(nn.Module):
    """One causal attention with a cache, as a language model's; `written` steps after what it is given."""

    def __init__(self, *, cached: bool) -> None:
        super().__init__()
        self.cached, self.attention = cached, nn.ModuleDict({"inner": Causal()})

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        return self.attention["inner"](x[:, -1:] if seen.shape[1] and self.cached else x, x)

    def generate(self, x: Tensor, written: int) -> None:
        seen = x[:, :0]
        for _ in range(written):
            seen = self(x, seen)
            x = torch.cat([x, seen[:, -1:]], dim=1)


class Causal(nn.Module):
    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        q, k = queries[:, None], keys[:, None]
        return F.scaled_dot_product_attention(q, k, k, is_causal=q.shape[2] > 1)[:, 0]


def test_steps_of_generate_grow_into_one_map_with_and_without_a_cache() -> None:
    x, found = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(0)), []
    for cached in (True, False):
        model = Decoder(cached=cached)
        with capture(model) as layers:
            model.generate(x, 3)
        (one,) = grown(layers)
        assert one.name == "attention.inner" and one.shape == (1, 5, 5)
        found.append(one.weights)
        view = look(layers, [*WORDS, "f"])  # the last one that was written is not read any more
        assert list(view.scene.stage.words) == WORDS
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert np.triu(found[0][0], 1).max() == 0


def test_an_encoder_decoder_has_its_cross_maps_by_one_call() -> None:
    model = nn.Transformer(16, 2, 1, 1, 32, batch_first=True).eval()
    inputs = torch.randn(1, 5, 16), torch.randn(1, 3, 16)
    scene = look(model, inputs, tokens=WORDS, answer=["<s>", "x", "y", "z"]).scene
    kinds = {one.name.split(".")[-1]: (one.kind, one.of, one.shape) for one in scene.layers[1:]}
    assert kinds == {"self_attn": ("past", "symbol", (2, 3, 3)), "multihead_attn": ("word", "symbol", (2, 3, 5))}
    assert scene.stage.tokens()["past"] == ["“<s>”", "“x”", "“y”"]
    with pytest.raises(SceneError, match="2 names are given for the answer"):
        look(model, inputs, tokens=WORDS, answer=["x", "y"])


def test_the_widget_sends_its_layers_when_they_are_asked_for_and_runs_the_cell_again() -> None:
    view = LightView(AttentionScene(stage=WordStage(words=["w"] * 300), layers=[LayerMaps(name="l", weights=maps(4, 300, 300))]))
    sent: list[Any] = []
    view.send = lambda content, buffers=None: sent.append((content, buffers))
    view._send_part(view, {"part": 0}, [])
    view._send_part(view, {"part": 7}, [])
    assert sent == [({"part": 0}, [view.scene.parts[0]]), ({"part": 7}, [])]
    asked: list[list[int]] = []
    other = AttentionScene(stage=WordStage(words=["v"] * 5), layers=[LayerMaps(name="l", weights=maps(1, 5, 5))])
    view.on_erase(lambda erased: (asked.append(erased), other)[1])
    view.erased = [2]
    assert asked == [[2]] and view.scene is other


def test_without_a_front_end_there_are_a_line_and_a_picture() -> None:
    view = look(WEIGHTS, WORDS)
    bundle = view._repr_mimebundle_()[0]
    assert bundle["text/plain"].startswith("5 words, 2 layers of 3 heads; layer ") and "\n" not in bundle["text/plain"]
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))))
    assert picture.shape == (3 * 40, 3 * 40)  # two layers and the rollout
    square, weights = picture[1:39, 41:79], WEIGHTS[0, 1]
    shown = weights[np.arange(38) * 5 // 38][:, np.arange(38) * 5 // 38] / weights.max()
    np.testing.assert_allclose(square, 255 * shown**0.6, atol=1)
