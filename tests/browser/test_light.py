"""The view outside of the app: a file of its own, and the widget in the page of a notebook, without a server of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from attention_light import AttentionScene, LayerMaps, LayerVectors, WordStage
from attention_light.notebook import LightView
from attention_light.scene import script
from tests.browser.conftest import Watch
from tests.browser.reader import PATIENCE_MS

STAGE = ".attention-stage"
N = 410
HOST = """([esm, css, message, parts, traits]) => {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const heard = {};
  const state = { ...traits, _message: new DataView(bytes(message).buffer) };
  const tell = (name, ...values) => (heard[name] ?? []).slice().forEach((one) => one(...values));
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => { window.saved = { ...state, _message: null }; },
    on: (name, act) => { (heard[name] ??= []).push(act); },
    off: (name, act) => { heard[name] = heard[name].filter((one) => one !== act); },
    send: ({ part }) => {
      window.asked.push(part);
      setTimeout(() => tell("msg:custom", { part }, [new DataView(bytes(parts[part]).buffer)]));
    },
  };
  window.asked = [];
  window.setTrait = (name, value) => { state[name] = value; tell(`change:${name}`); };
  document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  const address = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  return import(address).then(({ default: widget }) => widget.render({ model, el: document.body }));
}"""


@pytest.fixture
def alone(tab: Callable[..., Page], watch: Watch) -> Page:
    page = tab()
    watch.page(page)
    return page


def base64(data: bytes) -> str:
    import base64 as encoding

    return encoding.b64encode(data).decode()


def hosted(page: Page, view: LightView) -> None:
    """The widget's module with a model as a notebook's front end gives it."""
    page.goto("about:blank")
    traits = {name: getattr(view, name) for name in ("layer", "head", "token", "erased")}
    parts = [base64(one) for one in view.scene.parts]
    page.evaluate(HOST, [view._esm, view._css, base64(view._message), parts, traits])
    page.wait_for_selector(f"{STAGE}[data-light]", timeout=PATIENCE_MS)


def square(page: Page, layer: int, head: int) -> str:
    return f'.attention-square[data-layer="layer {layer}"][data-head="{head}"]'


def many() -> AttentionScene:
    """Two layers of 410 tokens, four heads of queries on two of keys; the first looks back alone, the second has a bias."""
    numbers = np.random.default_rng(0)
    layers = [
        LayerVectors(
            name=f"layer {i + 1}",
            queries=2 * numbers.normal(size=(4, N, 32)).astype(np.float32),
            keys=2 * numbers.normal(size=(2, N, 32)).astype(np.float32),
            causal=i == 0,
            bias=None if i == 0 else numbers.normal(size=(1, N, N)).astype(np.float32),
        )
        for i in range(2)
    ]
    return AttentionScene(stage=WordStage(words=[f"w{i}" for i in range(N)]), layers=layers, start=N - 1)


def torchs(layer: LayerVectors) -> np.ndarray:
    q, k = torch.from_numpy(layer.queries), torch.from_numpy(layer.keys).repeat_interleave(2, 0)
    scores = q @ k.transpose(1, 2) / 32**0.5
    if layer.bias is not None:
        scores = scores + torch.from_numpy(layer.bias)
    if layer.causal:
        scores = scores.masked_fill(torch.ones(N, N).triu(1) > 0, -torch.inf)
    return scores.softmax(-1).numpy()


def test_a_layer_of_a_large_scene_comes_when_it_is_pointed_at_and_its_rows_are_torchs(alone: Page) -> None:
    scene = many()
    hosted(alone, LightView(scene))
    first = set(alone.evaluate("asked"))  # of the layer that lights the stage
    assert first <= {1}
    alone.hover(square(alone, 1, 3))
    most = torchs(scene.layers[0])[2, N - 1].max()
    alone.wait_for_function(f"document.querySelector('{STAGE}').dataset.value", timeout=PATIENCE_MS)
    assert 0 in alone.evaluate("asked")
    assert float(alone.locator(STAGE).get_attribute("data-value") or 0) == pytest.approx(most, abs=2e-3)
    alone.evaluate(
        """([code]) => import(URL.createObjectURL(new Blob([`${code}\nexport { Layer, unpack };`], { type: "text/javascript" })))
        .then((module) => { window.light = module; })""",
        [script()],
    )
    for i, layer in enumerate(scene.layers):
        rows = alone.evaluate(
            """([message, entry]) => {
              const { head, read, bytes } = light.unpack(Uint8Array.from(atob(message), (c) => c.charCodeAt(0)));
              const layer = new light.Layer({ ...entry, ...head }, { read, bytes });
              return [0, 3, "mean"].map((head) => [0, 7, 409].map((query) => [...layer.row(head, query)]));
            }""",
            [base64(scene.parts[i]), {"name": layer.name, "kind": "word", "of": "word", "shape": layer.shape}],
        )
        want = torchs(layer)
        want = np.stack([want[0], want[3], want.mean(axis=0)])[:, [0, 7, 409]]
        np.testing.assert_allclose(rows, want, atol=2e-3)


def test_what_a_reader_chooses_comes_back_and_what_is_set_is_shown(alone: Page) -> None:
    weights = np.random.default_rng(1).dirichlet(np.ones(5), size=(30, 9, 5)).astype(np.float32)
    scene = AttentionScene(
        stage=WordStage(words=["one", "two", "three", "four", "five"]),
        layers=[LayerMaps(name=f"layer {i + 1}", weights=one) for i, one in enumerate(weights)],
    )
    view = LightView(scene)
    view.on_erase(lambda _tokens: None)
    hosted(alone, view)
    stage = alone.locator(STAGE)
    opened = (stage.get_attribute("data-layer"), stage.get_attribute("data-head"), stage.get_attribute("data-token"))
    assert opened == (f"layer {view.layer + 1}", str(int(view.head) + 1), str(view.token))
    boxes = [alone.locator(square(alone, *place)).bounding_box() for place in ((1, 1), (30, 9))]
    assert boxes[0] and boxes[1] and boxes[0]["width"] >= 12
    assert boxes[0]["y"] >= 0 and boxes[1]["y"] + boxes[1]["height"] <= 900  # thirty rows on one screen
    alone.click(square(alone, 17, 4))
    assert [alone.evaluate(f"saved.{name}") for name in ("layer", "head", "token")] == [16, 3, view.token]
    stage.focus()
    for key, token in (("Home", 0), ("End", 4), ("ArrowLeft", 3)):
        alone.keyboard.press(key)
        expect(stage).to_have_attribute("data-token", str(token))
    alone.keyboard.press("Enter")
    assert alone.evaluate("saved.token") == 3
    value = float(np.float16(weights[16, 3, 3].max()))
    assert float(stage.get_attribute("data-value") or 0) == float(f"{value:.3g}")
    alone.keyboard.press("Escape")
    expect(stage).to_have_attribute("data-layer", str(opened[0]))
    alone.evaluate("setTrait('layer', 2)")
    expect(stage).to_have_attribute("data-layer", "layer 3")
    alone.get_by_role("button", name="Erase").click()
    stage.press("Home")
    alone.keyboard.press("Enter")
    assert alone.evaluate("saved.erased") == [0]


def test_hebrew_and_arabic_run_from_the_right_and_pieces_stay_together(alone: Page, tmp_path: Path) -> None:
    words = ["[CLS]", "של", "ום", "עולם", "هذا", "اخت", "بار", "[SEP]"]
    weights = np.full((1, 2, 8, 8), 1 / 8, dtype=np.float32)
    scene = AttentionScene(
        stage=WordStage(words=words, joined=[i in (2, 6) for i in range(8)]), layers=[LayerMaps(name="a", weights=weights[0])]
    )
    path = scene.save(tmp_path / "view.html")
    text = path.read_text(encoding="utf-8").replace("\nmountText(", "\nwindow.drawn = mountText(")
    path.write_text(text, encoding="utf-8")
    alone.goto(path.as_uri())
    alone.wait_for_selector(f"{STAGE}[data-value]", timeout=PATIENCE_MS)
    boxes = np.array(json.loads(alone.evaluate("drawn.then((view) => JSON.stringify(view.stage.boxes))")))
    left, right = boxes[:, 0], boxes[:, 0] + boxes[:, 2]
    lines = boxes[:, 1]
    for before, after in zip(range(7), range(1, 8), strict=True):
        assert lines[before] < lines[after] or right[after] <= left[before] + 1
    for piece in (2, 6):
        assert lines[piece] == lines[piece - 1] and right[piece] == pytest.approx(left[piece - 1], abs=1)


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.1, 0.6, -0.3], "“b” counts most for the answer, with 60%"),
        ([0.2, 0.3, -0.5], "“c” counts most, and against the answer, with 50%"),
        ([0.0, 0.0, 0.0], "nothing counts for the answer"),
    ],
)
def test_what_speaks_against_an_answer_is_not_said_to_count_for_it(alone: Page, shares: list[float], said: str) -> None:
    layer = LayerMaps(name="layer 1", weights=np.full((1, 3, 3), 1 / 3, dtype=np.float32))
    stage = WordStage(words=["a", "b", "c"])
    hosted(alone, LightView(AttentionScene(stage=stage, layers=[layer], measures={"occlusion": np.array(shares)})))
    expect(alone.locator(".attention-sentence")).to_contain_text(said)
