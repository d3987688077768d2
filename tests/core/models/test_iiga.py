"""IIGA against a numpy twin, and what its masks promise."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.lecture.initialisation import xavier_bound
from core.models.iiga import IIGA, IIGAConfig
from tests.core.models import numpy_iiga
from tests.core.models.unsettled import unsettled

TRACKS = IIGAConfig(front="tracks", vocabulary=7, width=24, heads=3, layers=2, window=2, track_features=5, dropout=0.3)
FRAMES = replace(TRACKS, front="frames", image_size=32, width_multiplier=0.35, image_channels=40, vocabulary=6)


@pytest.mark.parametrize("residual", ["norm_of_sum", "sum_of_norm"])
@pytest.mark.parametrize("front", ["tracks", "frames"])
def test_forward_equals_numpy(front: str, residual: str) -> None:
    config = replace(FRAMES if front == "frames" else TRACKS, residual=residual)  # type: ignore[arg-type]
    model = unsettled(IIGA, config)
    x = torch.rand(2, 11, 32, 32, 3) if front == "frames" else torch.randn(2, 11, 5)
    with torch.no_grad():
        logits, maps = model(x, return_attention=True)
        fused = model(x)
        encoded = model.encode(x).double().numpy()
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    for row in range(2):
        expected, expected_maps = numpy_iiga.after_the_front(weights, encoded[row], config)
        np.testing.assert_allclose(logits[row], expected, atol=2e-5, rtol=0)
        np.testing.assert_allclose(fused[row], expected, atol=2e-5, rtol=0)
        assert list(maps) == ["intra 1", "inter 1", "intra 2", "inter 2"]
        for found, known in zip(maps.values(), expected_maps, strict=True):
            np.testing.assert_allclose(found[row], known, atol=1e-5, rtol=0)


@pytest.mark.parametrize("config", [TRACKS, FRAMES, replace(TRACKS, track_convolutions=3)], ids=["tracks", "frames", "deep"])
@pytest.mark.parametrize("training", [False, True])
def test_batch_padding_changes_nothing(config: IIGAConfig, training: bool) -> None:
    model = unsettled(IIGA, replace(config, dropout=0.0)).train(training)
    lengths = torch.tensor([4, 9])
    shape = (2, 9, 32, 32, 3) if config.front == "frames" else (2, 9, 5)
    x = torch.rand(shape)
    other = x.clone()
    other[0, 4:] = 0.9 if config.front == "frames" else 50.0
    before = model(x, lengths)
    after, maps = model(other, lengths, return_attention=True)
    torch.testing.assert_close(before[0, :4], after[0, :4], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(before[1], after[1], atol=1e-4, rtol=1e-4)
    assert all(bool((weights[0, :, :, 4:] == 0).all()) for weights in maps.values())
    if not training:  # with running statistics, a sentence alone gives the same as in a batch
        torch.testing.assert_close(model(x[:1, :4])[0], before[0, :4], atol=1e-4, rtol=1e-4)


def test_bytes_and_shares_are_the_same_picture() -> None:
    model = unsettled(IIGA, FRAMES)
    x = torch.randint(0, 256, (1, 3, 32, 32, 3), dtype=torch.uint8)
    torch.testing.assert_close(model(x), model(x / 255.0))


def test_linear_layers_start_as_xaviers() -> None:
    torch.manual_seed(0)
    model = IIGA(replace(TRACKS, width=240, vocabulary=400))
    layers = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    assert len(layers) == 4 * 6 + 1
    for layer in layers:
        bound = (6 / (layer.in_features + layer.out_features)) ** 0.5
        assert bound == pytest.approx(xavier_bound(layer.in_features, layer.out_features))
        assert float(layer.weight.detach().abs().max()) == pytest.approx(bound, rel=1e-2)
        assert float(layer.weight.detach().std()) == pytest.approx(bound / 3**0.5, rel=1e-2)
        assert not layer.bias.any()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"vocabulary": 1}, "no gloss beside the blank"),
        ({"window": -1}, "window must be 0 or more"),
        ({"front": "sound"}, "front is 'sound': choose one of frames, tracks"),
        ({"heads": 0}, "1 or more"),
        ({"track_kernel": 4}, "kernel odd"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        IIGAConfig(**settings)  # type: ignore[arg-type]


def test_wrong_inputs_are_refused() -> None:
    model = unsettled(IIGA, TRACKS)
    with pytest.raises(ValueError, match="takes .batch, T, 5. with 1 or more frames, not .1, 3, 6."):
        model(torch.zeros(1, 3, 6))
    with pytest.raises(ValueError, match="1 or more frames"):
        model(torch.zeros(1, 0, 5))
    with pytest.raises(ValueError, match="lengths must hold one number of 1 to 3"):
        model(torch.zeros(2, 3, 5), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match="cannot be split into 5 equal heads"):
        IIGA(replace(TRACKS, heads=5))
