"""The attention page by Streamlit's own test runner, with a tiny untrained TLOB that looks at 24 rows."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core import checkpoints
from core.explain import faithfulness
from core.market import evidence
from core.market.hub import shutdown
from core.market.predictor import load_predictor
from core.market.store import index
from core.market.windows import STORE, FrozenWindow
from core.service.access import Role, Visitor
from pages.markets import attention_window, cached_results
from pages.shared import permissions
from pages.shared.navigation import ROOT
from tests.core.market.helpers import HEADS, real_rows, save_tiny
from tests.pages.open_page import open_page, words
from tests.pages.scenes import scene_of

STEPS = 24
PAGE = ROOT / "pages" / "markets" / "attention.py"
RECORDING = index.recordings()[0]


opened = partial(open_page, PAGE)


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkpoint in the place of the shipped one."""
    folder = tmp_path_factory.mktemp("checkpoints")
    save_tiny(folder, real_rows(0), name="tlob")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "FOLDER", folder)
        yield folder
    shutdown()


def frozen(rows: int = STEPS, predictor: str = "tlob", market: str = "live/binance/ABC/USDT ABC/USDT") -> FrozenWindow:
    part = real_rows(1)[201 - rows : 201]
    return FrozenWindow(timestamps=part.timestamps, levels=part.levels, market=market, predictor=predictor)


def ends(second: float) -> str:
    """When the recording's window ends that ends at a second, as the page writes it."""
    return f"{datetime.fromtimestamp(RECORDING.start_ms / 1e3 + second, UTC):%H:%M:%S.%f}"[:-4]


# -- which window -----------------------------------------------------------------------------------------------------------


def test_a_link_opens_at_its_second() -> None:
    app = opened(second="100", h="5", label="forward")
    assert ends(100) in words(app) and "in 5 steps" in words(app)
    assert app.slider(key="second").value == 100
    assert app.query_params == {"second": "100", "h": "5"}


def test_steps_move_and_the_url_follows() -> None:
    app = opened(second="50")
    app.button(key="attention:forward").click().run()
    assert ends(51) in words(app) and app.query_params["second"] == "51"
    app.button(key="attention:back").click().run()
    app.button(key="attention:back").click().run()
    assert ends(49) in words(app) and app.query_params["second"] == "49"


def test_a_frozen_window_is_shown_by_its_link() -> None:
    window = frozen()
    app = opened(frozen=STORE.keep(window))
    assert f"{datetime.fromtimestamp(int(window.timestamps[-1]) / 1e3, UTC):%H:%M:%S}" in words(app)
    assert "ABC/USDT" in words(app)
    assert app.query_params == {"frozen": window.id, "window": "frozen"}


def test_a_frozen_window_that_is_gone_says_so() -> None:
    assert "What this link held is gone" in words(opened(frozen="0123456789ab"))


def test_without_a_link_the_last_frozen_window_of_the_visitor_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording and back again: what was frozen is there still."""
    someone = Visitor(id="someone", role=Role.STRANGER)
    monkeypatch.setattr(permissions, "visitor", lambda: someone)
    assert "Nothing is frozen yet" in words(opened(window="frozen"))
    kept = STORE.keep(frozen(), someone.holder)
    app = opened(window="frozen")
    assert "ABC/USDT" in words(app) and app.query_params == {"frozen": kept, "window": "frozen"}


def test_a_window_the_model_cannot_take_says_so() -> None:
    text = words(opened(frozen=STORE.keep(frozen(rows=30))))
    assert "30 rows" in text and f"takes {STEPS}" in text


def test_a_window_of_a_model_that_is_not_here_is_read_by_one_that_is() -> None:
    text = words(opened(frozen=STORE.keep(frozen(predictor="elsewhere"))))
    assert "frozen with the model elsewhere" in text and "explained: " in text


def test_without_a_checkpoint_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    assert "There is no checkpoint named 'tlob': there are none. Restore" in words(opened())


# -- what is said of it -------------------------------------------------------------------------------------------------------


def test_the_reading_is_the_predictors_own(models: Path) -> None:
    window = frozen()
    predictor = load_predictor("tlob", folder=models)
    found = cached_results.answer(window)
    expected = predictor.predict(window.levels[None], predictor.market(window.market))
    np.testing.assert_allclose(found.probabilities, expected.probabilities[0], atol=1e-5)
    assert list(found.likeliest) == expected.probabilities[0].argmax(axis=1).tolist()
    assert list(found.maps) == [
        "time-to-time 1", "feature-to-feature 1", "rollout time-to-time", "rollout feature-to-feature",
    ]  # fmt: skip
    for weights in found.maps.values():
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert cached_results.answer(frozen()) is found  # computed once, however often it is asked for


def test_what_is_explained_is_the_probability_on_the_page(models: Path) -> None:
    window = frozen()
    found = cached_results.answer(window)
    for head, label in ((0, 2), (3, 0)):
        attribution = cached_results.attribute(window, head, label)
        assert attribution.output == pytest.approx(float(found.probabilities[head, label]), abs=1e-5)
        assert abs(attribution.gap) <= 0.01 * abs(attribution.difference)


def test_the_view_of_the_inputs_shows_the_sum_and_the_gap() -> None:
    window = frozen()
    app = opened(frozen=STORE.keep(window), view="inputs", label="forward", h="5", **{"class": "UP"})
    attribution = cached_results.attribute(window, HEADS.index(("forward", 5)), 2)
    text = words(app)
    assert f"{attribution.output:.2%}" in text and f"{attribution.baseline_output:.2%}" in text
    assert f"{attribution.total:+.5f}" in text and f"{attribution.gap:+.7f}" in text
    assert "P(Up)" in text and "ASK_DRIFT and BID_DRIFT the best prices" in text


def test_the_stage_holds_the_windows_book_and_the_models_own_maps() -> None:
    window = frozen()
    answer = cached_results.answer(window)
    head, arrays = scene_of(opened(frozen=STORE.keep(window)))
    assert head["stage"]["name"] == "book" and len(head["tokens"]["time"]) == STEPS
    assert [one["kind"] for one in head["layers"]] == ["time", "channel"]
    for name in answer.layers("time-to-time") + answer.layers("feature-to-feature"):
        np.testing.assert_array_equal(arrays[name], answer.maps[name].astype(np.float16))
    assert head["tokens"]["time"][-1] == "now" and head["tokens"]["time"][0] == f"{(1 - STEPS) * 0.25:+.2f} s"


def test_at_rest_the_stage_is_lit_by_integrated_gradients_of_what_is_explained() -> None:
    """D38: of the five measures they reach furthest below chance for the shipped model."""
    window = frozen()
    head, arrays = scene_of(opened(frozen=STORE.keep(window), label="forward", h="5", **{"class": "UP"}))
    values = cached_results.attribute(window, HEADS.index(("forward", 5)), 2).values
    assert head["measures"][0]["name"] == "gradients"
    np.testing.assert_allclose(arrays["gradients"], values, atol=1e-6)


def test_names_say_what_a_map_relates_and_the_documents_word_stands_beside_once() -> None:
    text = words(opened())
    assert "time-to-time" in text and text.count("*spatial*") == 1
    assert "Attention weights are not explanations by themselves" in text


def test_curves_of_other_weights_are_called_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    window = answers_window(60.0)
    curves = faithfulness.deletion_curves(cached_results.explained(window, 0, cached_results.answer(window).likeliest[0]))
    faithfulness.write("tlob", "0" * 64, "python -m core faithful tlob", [curves, curves], folder=tmp_path)
    monkeypatch.setattr(faithfulness, "FOLDER", tmp_path)
    shown = words(opened(second="60", view="truth"))
    assert "The bundled sample has not been measured with these weights" in shown
    assert "of 5 methods" in shown


def answers_window(second: float) -> FrozenWindow:
    """The window of the first recording that ends at a second, as the page cuts it."""
    return attention_window.recorded(RECORDING.name, STEPS).window(second, predictor="tlob")


def test_the_forward_label_stands_first() -> None:
    """D24, of the answer and of what is explained."""
    app = opened(second="60")
    assert "(forward label; explained: " in words(app)
    (label,) = [one for one in app.segmented_control if one.key == "label"]
    assert label.value == "forward" and label.options[0] == "Forward"


def test_a_market_that_the_model_was_not_trained_on_is_said_on_the_screen() -> None:
    assert "was not trained on this market" in words(opened())
    known = STORE.keep(frozen(market="live/testville/ABC/USD ABC/USD"))
    assert "was not trained on this market" not in words(opened(frozen=known))


def test_moments_that_are_rubbed_out_are_said_with_the_call_until_another_window() -> None:
    app = opened(hide_moments="3.20.x.99")
    assert app.query_params["hide_moments"] == "3.20"
    assert f"Without 2 of {STEPS} parts it is" in words(app)
    window = attention_window.recorded(RECORDING.name, STEPS).window((STEPS - 1) * 0.25, predictor="tlob")
    predictor, hidden = load_predictor("tlob", folder=checkpoints.FOLDER), np.zeros((1, STEPS), bool)
    hidden[0, [3, 20]] = True
    probabilities = evidence.answers_without(predictor, predictor.market(window.market), window.levels, hidden)
    head = predictor.head("forward", 10)
    called = cached_results.answer(window).likeliest[head]
    assert f"{probabilities[0, head, called]:.1%}" in words(app)
    app.button(key="attention:forward").click().run()
    assert "hide_moments" not in app.query_params and "Without 2 of" not in words(app)
