"""The models by name: what every card needs to become a network."""

from pathlib import Path

import pytest
import torch

from core import checkpoints
from core.checkpoints import CheckpointError
from core.models import MODELS
from core.models.config import AttentionConfig
from core.models.dinov2 import DINOv2Config
from core.models.iiga import IIGAConfig
from core.models.minilm import MiniLMConfig
from core.models.tlob import TLOB, TLOBConfig
from core.models.transformer import TransformerConfig
from core.models.vit import ViT, ViTConfig
from tests.core.test_checkpoints import CARD

SMALL: list[AttentionConfig] = [
    TLOBConfig(steps=8, width=8, pairs=1),
    ViTConfig(side=12, width=16, heads=2, layers=1, hidden=16),
    IIGAConfig(front="tracks", vocabulary=5, width=16, heads=2, layers=1),
    IIGAConfig(vocabulary=5, width=16, heads=2, layers=1, image_size=32, width_multiplier=0.35, image_channels=32),
    TransformerConfig(vocabulary=9, width=16, heads=2, layers=1, hidden=16),
    DINOv2Config(width=16, heads=2, layers=1, hidden=16),
    MiniLMConfig(vocabulary=9, width=16, heads=2, layers=1, hidden=16),
]


def test_every_model_is_registered_under_the_name_of_its_configuration() -> None:
    assert MODELS["tlob"] == (TLOB, TLOBConfig)
    for name, (model, config) in MODELS.items():
        assert config.model == name and model.__module__ == config.__module__
    assert "nothing" not in MODELS and {"tlob", "vit", "iiga", "transformer"} <= MODELS.keys()


@pytest.mark.parametrize("config", SMALL, ids=lambda config: type(config).__name__)
def test_a_configuration_says_what_its_model_takes(config: AttentionConfig) -> None:
    model = MODELS[config.model][0](config).eval()
    _, maps = model(*config.example_inputs(6), return_attention=True)
    length = config.sequence_length or 6
    assert any(weights.shape[-1] == length for weights in maps.values())
    assert any(weights.shape[-1] == config.width for weights in maps.values()) == (config.model == "tlob")  # channel to channel


def saved(folder: Path, **entries: object) -> checkpoints.Checkpoint:
    model = ViT(ViTConfig(side=12, width=16, heads=2, layers=1, hidden=16))
    checkpoints.save("small", model, CARD | {"model": "vit", "config": model.config.to_dict()} | entries, folder=folder)
    return checkpoints.load("small", folder=folder)


def test_a_card_becomes_the_network_it_was_saved_from(tmp_path: Path) -> None:
    torch.manual_seed(3)
    checkpoint = saved(tmp_path)
    network = checkpoints.build_model(checkpoint, ViT)
    assert not network.training and next(network.parameters()).device.type == "cpu"
    assert all(torch.equal(value, checkpoint.weights[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"model": "tlob"}, "'small' holds the model tlob: ViT is needed here"),
        ({"model": "nothing"}, "'small' holds the model nothing: ViT is needed here"),
        ({"config": {"side": 12, "colour": "red"}}, "the card small.json does not describe the model ViT: .*'colour'"),
        ({"config": {"width": 15}}, "does not describe the model ViT: a width of 15 cannot be split into 4 equal heads"),
        ({"config": {"side": 12, "patch": True}}, "patch is True: a whole number is needed"),
        ({"config": {"start": "warm"}}, "start is 'warm': choose one of plain, local"),
        ({"config": {"side": 12, "width": 20}}, "the weights of 'small' do not fit its card's config"),
    ],
)
def test_another_model_or_config_is_refused_in_a_sentence(tmp_path: Path, entries: dict[str, object], sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence) as caught:
        checkpoints.build_model(saved(tmp_path, **entries), ViT)
    assert "\n" not in str(caught.value)
