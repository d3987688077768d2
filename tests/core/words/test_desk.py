"""Turns of those who write on, what bars are drawn from, and the network that is given back."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.words import desk
from core.words.desk import PATIENCE_S, TEMPERATURES, TOP_PS, Desk, Turns, lit_scene, next_words
from core.words.writer import Writing, choose
from core.words.writer_files import WRITER_FILES


@dataclass
class Named:
    names: list[str]


SCORES = np.log(np.random.default_rng(1).dirichlet(np.full(300, 0.1)) + 1e-12).astype(np.float32)


def test_two_write_the_others_wait_in_order_and_who_is_gone_gives_place() -> None:
    turns = Turns()
    assert [turns.ask(who, 0.0) for who in "abcd"] == [0, 0, 1, 2]
    assert turns.ask("d", 1.0) == 2 and turns.ask("a", 1.0) == 0 and turns.ask("c", 1.0) == 1
    turns.leave("a")
    assert turns.ask("c", 2.0) == 0 and turns.ask("d", 2.0) == 1
    assert turns.ask("d", 2.0 + PATIENCE_S - 0.5) == 0  # b asked last at 0 and is gone


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("top_p", [0.1, 0.9, 1.0])
def test_bars_have_the_shares_by_which_words_are_drawn(temperature: float, top_p: float) -> None:
    found = next_words(Named([str(i) for i in range(300)]), SCORES)  # type: ignore[arg-type]
    t, p = TEMPERATURES.index(temperature) - 1, TOP_PS.index(top_p)
    shares = np.exp(SCORES.astype(np.float64) / temperature)
    shares /= shares.sum()
    order = np.argsort(-shares)
    kept = order[: int(np.searchsorted(np.cumsum(shares[order]), top_p - 1e-12)) + 1]
    drawn = {int(i): shares[i] / shares[kept].sum() for i in kept}
    for i, score, rank in zip(found.ids, found.scores, found.ranks, strict=True):
        share = np.exp(score / temperature - found.totals[t]) / found.masses[t][p] if rank < found.counts[t][p] else 0
        assert share == pytest.approx(drawn.get(i, 0), abs=1e-6)
    draws = {choose(SCORES, temperature=temperature, top_p=top_p, seed=1, place=place) for place in range(200)}
    assert draws <= set(drawn)


def test_other_words_are_followed_by_their_own_rank() -> None:
    found = next_words(Named([str(i) for i in range(300)]), SCORES, [7, 3])  # type: ignore[arg-type]
    assert found.ids == [7, 3] and found.ranks == [int((SCORES[i] < SCORES).sum()) for i in (7, 3)]


def test_what_is_left_of_a_text_stands_at_its_places_and_the_rest_is_dark() -> None:
    weights = np.array([[1, 0], [0.25, 0.75]], np.float32)[None, None]
    state = Writing(ids=[5, 7], off=frozenset(), caches=[], vectors=torch.zeros(1, 2, 1), scores=SCORES, blocks=[weights])
    named = Named([f" {i}" for i in range(9)])
    scene = lit_scene(named, [5, 6, 7, 8], [0, 2], state, np.array([3.0, 1.0]), rolled=False)  # type: ignore[arg-type]
    (layer,) = scene.layers
    np.testing.assert_array_equal(layer.weights[0], [[1, 0, 0, 0], [0, 0, 0, 0], [0.25, 0, 0.75, 0], [0, 0, 0, 0]])
    assert scene.measures["occlusion"].tolist() == [0.75, 0, 0.25, 0] and scene.start == 2


def test_who_waits_for_a_computation_is_told_the_place_and_may_go() -> None:
    class Gone(Exception):
        pass

    def go(place: int) -> None:
        raise Gone(place)

    one = Desk()
    with one._places.hold_place("a", go), one._places.hold_place("b", go):
        for _ in range(2):  # who went waits no longer
            with pytest.raises(Gone, match="1"), one.writer("c", go):
                pass


@pytest.mark.skipif(not WRITER_FILES.available(), reason="needs `make writer`")
def test_a_text_goes_on_from_what_is_kept_and_all_is_given_back_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    one, now = Desk(), [0.0]
    monkeypatch.setattr(desk, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with one.writer("a") as writer:
        ids = writer.ids("Once upon a time")
        begun = one.state(writer, ids)
        longer = one.state(writer, [*ids, 28])
        assert longer is begun and longer.ids == [*ids, 28]
        np.testing.assert_allclose(longer.scores, writer.begin([*ids, 28]).scores, atol=2e-3)
        assert one.state(writer, ids, [(0, 0)]) is not longer
    now[0] = 599.0
    one.give_back()
    assert one._writer is not None and one._texts
    now[0] = 600.0
    one.give_back()
    assert one._writer is None and not one._texts
