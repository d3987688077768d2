"""Counts of built models against formulas, published sizes and the documents' own numbers; formulas against PyTorch."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from core.lecture import cost, cost_count
from core.models import MODELS
from core.models.config import AttentionConfig
from core.models.iiga import DOCUMENT, IIGAConfig
from core.models.tlob import BTC, FI2010, TLOBConfig
from core.models.transformer import TransformerConfig
from core.models.vit import ViTConfig
from core.nn import MultiHeadAttention


@pytest.mark.parametrize("qkv", [1, 2])
def test_a_tlobs_rows_are_the_formulas(qkv: int) -> None:
    """tlob-architecture 3.2 and 5: each odd layer attends along features, and the listing projects twice (D4)."""
    found = {row.module: row for row in cost_count.count(replace(BTC, qkv="double" if qkv == 2 else "single"), 0).rows}
    for layer in range(8):
        t, d = (128, 40) if layer % 2 == 0 else (40, 128)
        heads = [row for name, row in found.items() if name.startswith(f"layers.{layer}.") and "mlp" not in name]
        projections = cost.projection_macs(t, t, d)
        assert sum(row.macs for row in heads) == qkv * projections + cost.score_macs(t, t, d)
        assert sum(row.parameters for row in heads) == qkv * 4 * (d * d + d) + 2 * d
        mlp = found[f"layers.{layer}.mlp"]
        assert (mlp.parameters, mlp.macs) == (cost.feed_forward_parameters(d, 4 * d), cost.feed_forward_macs(t, d, 4 * d))
    assert (found["embedding"].parameters, found["embedding"].macs) == (40 * 40 + 40, 128 * 40 * 40)


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        (replace(BTC, pooling="learned", outputs=8, positions="sinusoidal"), 0),
        (TLOBConfig(steps=32, width=24, pairs=1, pooling="learned", mirrored=True), 0),
        (FI2010, 0),
        (ViTConfig(patch=7, width=48, heads=3, layers=2, hidden=100), 0),
        (IIGAConfig(vocabulary=11, width=32, heads=4, image_size=64, width_multiplier=0.35, image_channels=64), 9),
        (IIGAConfig(front="tracks", vocabulary=67, width=32, heads=4, track_features=14, track_convolutions=2), 40),
        (TransformerConfig(vocabulary=47), 24),
    ],
)
def test_the_rows_hold_every_parameter_and_every_product(config: AttentionConfig, tokens: int) -> None:
    counted = cost_count.count(config, tokens)
    with torch.device("meta"):
        model = MODELS[config.model][0](config).eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            maps = model(*config.example_inputs(tokens), return_attention=True)[1]
    assert counted.parameters == sum(value.numel() for value in model.parameters())
    assert sum(row.macs for row in counted.rows) == counted.macs == counter.get_total_flops() // 2
    assert counted.maps == sum(one.numel() for one in maps.values()) and all(row.macs >= 0 for row in counted.rows)


def test_the_documents_numbers() -> None:
    """tlob-architecture 6.1 and 6.3 (D4, D7); MobileNetV2's published size; iiga-equations 14.3."""
    lean, listed = (cost_count.count(replace(BTC, qkv=qkv), 0) for qkv in ("single", "double"))  # type: ignore[arg-type]
    assert (listed.parameters, lean.parameters) == (1_173_611, 883_179)
    assert listed.macs == pytest.approx(62.1e6, rel=1e-3) and lean.macs == pytest.approx(48.38e6, rel=1e-3)
    assert cost.tlob_score_product(BTC, 32) == 32 * 4 * (128 * 128 * 40 + 40 * 40 * 128) == 110_100_480
    cnn = [row for row in cost_count.count(DOCUMENT, 1).rows if row.module.startswith("front")]
    assert sum(row.parameters for row in cnn) == 2_223_872
    assert sum(row.macs for row in cnn) == pytest.approx(300e6, rel=0.01)  # the paper's table 4: 300 M
    split = cost_count.iiga_split(DOCUMENT, 12)
    assert split["cnn"] == pytest.approx(3.6e9, rel=0.01)
    assert split["transformer"] == 4 * (12 * 12 * 1280**2 + 2 * 144 * 1280)
    assert cost.iiga_orders(12, 224, 1280, 4, 2) == {
        "cnn": 2 * 12 * 224 * 224 * 3,
        "transformer": 4 * (12 * 12 * 1280 + 12 * 1280 * 1280),
    }


@pytest.mark.parametrize(("tokens", "width", "heads"), [(1, 8, 2), (12, 64, 8), (300, 32, 4), (64, 128, 1)])
def test_one_layers_terms_are_pytorchs_own_layers(tokens: int, width: int, heads: int) -> None:
    """Against `nn.MultiheadAttention` and two `nn.Linear` counted apart."""
    with torch.device("meta"):
        theirs = nn.MultiheadAttention(width, heads, batch_first=True)
        ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.Linear(4 * width, width))
        x = torch.zeros(1, tokens, width)
        with FlopCounterMode(display=False) as counter:
            theirs(x, x, x, need_weights=True)
            ffn(x)
    mine = cost.projection_macs(tokens, tokens, width) + cost.score_macs(tokens, tokens, width)
    mine += cost.feed_forward_macs(tokens, width, 4 * width)
    assert mine == counter.get_total_flops() // 2 == cost_count.layer_macs(tokens, width, heads)
    assert cost.feed_forward_parameters(width, 4 * width) == sum(value.numel() for value in ffn.parameters())


@pytest.mark.parametrize("width", [8, 40, 1280])
def test_crossings_are_where_both_sides_are_equal(width: int) -> None:
    at = cost.crossing_attention(width)
    assert cost.score_macs(at, at, width) == cost.projection_macs(at, at, width)
    at = cost.crossing_layer(width)
    rest = cost.projection_macs(at, at, width) + cost.feed_forward_macs(at, width, 4 * width)
    assert cost.score_macs(at, at, width) == rest
    at = int(cost.crossing_memory(width, 4))
    assert cost.map_numbers(at, at, 4) == at * 4 * width


def test_maps_take_the_memory_that_they_say() -> None:
    attention = MultiHeadAttention(16, 4)
    x = torch.zeros(1, 7, 16)
    maps = attention(x, x, x, return_attention=True)[1]
    one = cost.layer(7, 16, 4)
    assert one.maps == maps.numel() * maps.element_size() == cost.BYTES * cost.map_numbers(7, 7, 4)
    middle = torch.zeros(7, 4 * 16)
    assert one.middle == middle.numel() * middle.element_size()


def test_setups_leave_a_broken_card_out(tmp_path: Path) -> None:
    found = cost_count.setups()
    assert {"tlob", "vit", "iiga", "dates", "shipped-tlob"} <= found.keys()
    (tmp_path / "broken.json").write_text("{")
    assert "shipped-broken" not in cost_count.setups(tmp_path)


def test_shapes_are_those_of_the_documents_tables() -> None:
    """tlob-architecture 3.5 and 4.2, and iiga-equations 3.1 to 3.6 and 10.1, for one sample."""
    tlob = {row.module: row.shapes for row in cost_count.count(BTC, 0).rows}
    for layer in range(8):
        x, map_ = ((1, 128, 40), (1, 1, 128, 128)) if layer % 2 == 0 else ((1, 40, 128), (1, 1, 40, 40))
        assert tlob[f"layers.{layer}.attention"] == (x, x, map_)
        assert tlob[f"layers.{layer}.mlp"] == (x, x)
    assert tlob["bin_norm"] == ((1, 40, 128), (1, 40, 128)) and tlob["classifiers.0"] == ((1, 40), (1, 3))
    iiga = {row.module: row.shapes for row in cost_count.count(DOCUMENT, 12).rows}
    assert iiga["front.cnn.features.0"] == ((12, 3, 224, 224), (12, 32, 112, 112))
    assert iiga["front.cnn.features.18"][1] == (12, 1280, 7, 7)
    assert iiga["layers.0.attention"] == ((1, 12, 1280), (1, 12, 1280), (1, 8, 12, 12))
    assert iiga["decoder"] == ((1, 12, 1280), (1, 12, 1232))
