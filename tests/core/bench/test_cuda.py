"""The measurements of a card: refused without one, and with one by what a graph must repeat."""

from __future__ import annotations

import pytest
import torch

from core.bench import cuda
from core.bench.networks import shipped


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_card_it_is_said_that_nothing_is_measured() -> None:
    with pytest.raises(RuntimeError, match="No CUDA device"):
        next(cuda.measured())


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_recorded_pass_gives_what_the_network_gives() -> None:
    model, window = shipped(1)
    model, window = model.to("cuda"), window.to("cuda")
    with torch.inference_mode():
        expected = model(window)
    replayed = cuda.graph(model, window)()
    assert isinstance(replayed, torch.Tensor)
    torch.testing.assert_close(replayed, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_value_of_a_card_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "BATCHES", (1, 4))
    found = {one.what: one.value for one in cuda.measured()}
    assert len(found) >= 6 and min(found.values()) > 0
