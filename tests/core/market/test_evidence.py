"""Which moments decided: a TLOB that is trained to read one known moment must be found out by the methods that claim to."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.explain.attribution import integrated_gradients, tlob_baseline
from core.explain.measures import METHODS
from core.explain.occlusion import occlusion
from core.market.evidence import answers_without, explain_window, pooled_rows
from core.market.predictor import load_predictor
from core.market.store.index import recordings
from core.market.store.rows import read_market
from core.models.tlob import TLOB, TLOBConfig

STEPS, MOMENT = 16, 5


@pytest.fixture(scope="module")
def planted() -> TLOB:
    """A TLOB for which the third input of the sixth moment alone says UP or DOWN."""
    torch.manual_seed(0)
    model = TLOB(TLOBConfig(steps=STEPS, width=8, pairs=1, qkv="single", pooling="last", dropout=0.0))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(400):
        x = torch.randn(32, STEPS, 40, generator=generator)
        loss = F.cross_entropy(model(x), torch.where(x[:, MOMENT, 2] > 0, 2, 0))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    x = torch.randn(512, STEPS, 40, generator=generator)
    right = (model(x).argmax(dim=1) == torch.where(x[:, MOMENT, 2] > 0, 2, 0)).float().mean()
    assert right > 0.9  # otherwise it has nothing to be found out about
    return model


def test_the_moment_that_decides_is_found_out(planted: TLOB) -> None:
    generator = torch.Generator().manual_seed(1)
    found = dict.fromkeys(("gradients", "occlusion", "input"), 0)
    for _ in range(20):
        x = torch.randn(STEPS, 40, generator=generator)
        x[MOMENT, 2] *= 2 / abs(float(x[MOMENT, 2]))  # far enough from the fence to be a decision
        label = 2 if x[MOMENT, 2] > 0 else 0

        def probability(z: torch.Tensor, label: int = label) -> torch.Tensor:
            return planted(z).softmax(dim=-1)[:, label]

        still = tlob_baseline(x)
        values = integrated_gradients(probability, x, still).values
        found["input"] += np.unravel_index(np.abs(values).argmax(), values.shape) == (MOMENT, 2) and values[MOMENT, 2] > 0
        importance = {
            "gradients": values.sum(axis=1),
            "occlusion": occlusion(probability, x, still, torch.arange(STEPS)[:, None]),
        }
        for name, moments in importance.items():
            found[name] += int(moments.argmax()) == MOMENT
    assert min(found.values()) >= 19
    # Relevance finds it in 4 of 20: feature-to-feature layers carry moments past the maps, as the module says.


def test_the_rows_that_the_head_reads() -> None:
    rows = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(pooled_rows(rows, "last"), [6, 7, 8])
    np.testing.assert_array_equal(pooled_rows(rows, "mean"), [3, 4, 5])


def test_every_method_speaks_of_every_moment_of_a_real_window() -> None:
    predictor, one = load_predictor(), recordings()[0]
    rows, entry = read_market([one.path]), predictor.market(one.name)
    levels = rows.levels[400 : 400 + predictor.window]
    probabilities, maps = predictor.attention(predictor.inputs(levels[None], entry), entry)
    found = explain_window(predictor, entry, levels, head=0, label=1)
    assert set(found.importance) == set(METHODS)
    assert all(values.shape == (predictor.window,) for values in found.importance.values())
    with torch.no_grad():
        assert float(found.function(found.inputs[None])) == pytest.approx(float(probabilities[0, 1]), abs=1e-5)
    last = [weights for name, weights in maps.items() if name.startswith("time-to-time")][-1]
    np.testing.assert_allclose(found.importance["attention"], last.mean(axis=0)[-1], atol=1e-6)
    assert found.importance["rollout"].sum() == pytest.approx(1)
    with torch.no_grad():
        difference = float(found.function(found.inputs[None]) - found.function(found.baseline[None]))
    assert found.importance["gradients"].sum() == pytest.approx(difference, rel=0.01, abs=1e-4)


def test_the_call_without_moments_is_that_of_the_inputs_at_their_mean() -> None:
    predictor, one = load_predictor(), recordings()[0]
    rows, entry = read_market([one.path]), predictor.market(one.name)
    levels = rows.levels[400 : 400 + predictor.window]
    hidden = np.zeros((2, predictor.window), bool)
    hidden[1, 100:] = True
    probabilities = answers_without(predictor, entry, levels, hidden)
    whole = predictor.predict(levels[None], entry)
    np.testing.assert_allclose(probabilities[0], whole.probabilities[0], atol=1e-5)
    inputs = predictor.inputs(levels[None], entry)
    inputs[:, 100:] = inputs.mean(dim=1, keepdim=True)
    with torch.no_grad():
        logits = predictor.model(inputs).reshape(len(predictor.heads), 3).numpy()
    expected = [rule.probabilities(logits[i]) for i, rule in enumerate(entry.rules)]
    np.testing.assert_allclose(probabilities[1], expected, atol=1e-5)
