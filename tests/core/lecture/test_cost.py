"""Costs by formula against PyTorch's counter on the built model, torchvision's published sizes and the documents' own numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from core.lecture import cost, cost_count
from core.lecture.cost_count import Setup
from core.models.config import AttentionConfig
from core.models.iiga import DOCUMENT, IIGA, IIGAConfig
from core.models.tlob import BTC, FI2010, TLOBConfig
from core.models.transformer import DATE_SYMBOLS, Transformer, TransformerConfig
from core.models.vit import ViTConfig

CASES: dict[str, tuple[AttentionConfig, int]] = {
    "listing": (BTC, 0),
    "lean": (replace(BTC, qkv="single", pooling="learned", outputs=8, positions="sinusoidal"), 0),
    "fi2010": (FI2010, 0),
    "short": (TLOBConfig(steps=32, width=24, pairs=1, pooling="last"), 0),
    "mirrored": (TLOBConfig(steps=32, width=24, pairs=1, pooling="learned", mirrored=True), 0),
    "vit": (ViTConfig(), 0),
    "vit-7": (ViTConfig(patch=7, width=48, heads=3, layers=2, hidden=100), 0),
    "document": (DOCUMENT, 12),
    "digits": (IIGAConfig(vocabulary=11, width=32, heads=4, image_size=64, width_multiplier=0.35, image_channels=64), 9),
    "still": (IIGAConfig(vocabulary=11, width=32, heads=4, image_size=33, width_multiplier=0.5, stem_stride=1), 3),
    "tracks": (IIGAConfig(front="tracks", vocabulary=67, width=32, heads=4, track_features=14, track_convolutions=2), 40),
    "dates": (TransformerConfig(vocabulary=47), 24),
}


@pytest.mark.parametrize("case", CASES)
def test_every_formula_is_what_is_counted(case: str) -> None:
    config, tokens = CASES[case]
    rows, counted = cost_count.rows(config, tokens), cost_count.count(config, tokens)
    assert counted.by_row(rows) == {row.module: row.macs for row in rows}
    found = cost_count.total(rows)
    assert (found.parameters, found.macs, found.maps) == (counted.parameters, counted.of(""), counted.maps)
    assert sum(cost_count.macs_by_kind(rows).values()) == found.macs


def test_the_documents_numbers() -> None:
    """tlob-architecture 6.1 and 6.3 (D4, D7); MobileNetV2's published size; iiga-equations 14.3."""
    lean, listed = (cost_count.total(cost_count.rows(replace(BTC, qkv=qkv), 0)) for qkv in ("single", "double"))  # type: ignore[arg-type]
    assert (listed.parameters, lean.parameters) == (1_173_611, 883_179)
    assert listed.macs == pytest.approx(62.1e6, rel=1e-3) and lean.macs == pytest.approx(48.38e6, rel=1e-3)
    assert cost.tlob_score_product(BTC, 32) == 32 * 4 * (128 * 128 * 40 + 40 * 40 * 128) == 110_100_480
    cnn = cost_count.total([row for row in cost_count.rows(DOCUMENT, 1) if row.kind == "convolution"])
    assert cnn.parameters == 2_223_872
    assert cnn.macs == pytest.approx(300e6, rel=0.01)  # the paper's table 4: 300 M
    split = cost_count.iiga_split(DOCUMENT, 12)
    assert split["cnn"] == pytest.approx(3.6e9, rel=0.01)
    assert cost_count.iiga_split(DOCUMENT, 12, 3) == {name: 3 * macs for name, macs in split.items()}
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
    assert cost.attention_parameters(width) == sum(value.numel() for value in theirs.parameters())
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
    model = Transformer(TransformerConfig(vocabulary=5, width=16, heads=2)).eval()
    symbols = torch.ones(1, 7, dtype=torch.long)
    maps = model(symbols, torch.ones(1, DATE_SYMBOLS, dtype=torch.long), return_attention=True)[1]
    found = cost_count.total(cost_count.rows(model.config, 7))
    assert found.map_bytes == sum(one.numel() * one.element_size() for one in maps.values())
    assert found.weight_bytes == sum(one.numel() * one.element_size() for one in model.parameters())


def test_the_widest_tensor_is_the_largest_that_a_module_hands_on() -> None:
    config = IIGAConfig(vocabulary=5, width=16, heads=2, image_size=32, width_multiplier=0.35, image_channels=32)
    model, sizes = IIGA(config).eval(), []
    for module in model.modules():
        if not list(module.children()):
            module.register_forward_hook(lambda _m, _x, y: sizes.append(y.numel()))
    model(torch.zeros(1, 4, 32, 32, 3))
    assert cost_count.total(cost_count.rows(config, 4)).widest == max(sizes)


def test_the_length_is_the_configurations_where_it_has_one() -> None:
    lengths = [
        Setup(config=ViTConfig(patch=7)),
        Setup(config=replace(BTC, steps=64, width=24)),
        Setup(config=DOCUMENT, tokens=30),
    ]
    assert [one.length for one in lengths] == [17, 64, 30]


def test_kinds_are_what_modules_do() -> None:
    kinds = {row.module: row.kind for config, tokens in CASES.values() for row in cost_count.rows(config, tokens)}
    assert {kind: next(name for name in kinds if kinds[name] == kind) for kind in cost_count.KINDS} == {
        "convolution": "front.cnn.features.0", "embedding": "embedding", "positions": "positions", "norm": "bin_norm",
        "attention": "layers.0.qkv", "feed_forward": "layers.0.mlp", "head": "classifiers.0",
    }  # fmt: skip
    named = {"class_token": "embedding", "pool_logits": "head", "out": "head", "decoder.0.feed_forward": "feed_forward",
             "decoder.1.cross_attention": "attention", "decoder": "head", "front.convolutions.0": "convolution",
             "front.project": "embedding", "layers.0.w0": "attention", "head": "head"}  # fmt: skip
    assert {name: kinds[name] for name in named} == named


def test_setups_leave_a_broken_card_out(tmp_path: Path) -> None:
    found = cost_count.setups()
    assert {"tlob", "vit", "iiga", "dates", "shipped-tlob"} <= found.keys()
    (tmp_path / "broken.json").write_text("{")
    assert "shipped-broken" not in cost_count.setups(tmp_path)


def test_shapes_are_those_of_the_documents_tables() -> None:
    """tlob-architecture 3.5 and 4.2, and iiga-equations 3.1 to 3.6 and 10.1, for one sample."""
    tlob = {row.module: row.shapes for row in cost_count.rows(BTC, 0)}
    for layer in range(8):
        x, map_ = ((1, 128, 40), (1, 1, 128, 128)) if layer % 2 == 0 else ((1, 40, 128), (1, 1, 40, 40))
        assert tlob[f"layers.{layer}.attention"] == (x, x, map_)
        assert tlob[f"layers.{layer}.mlp"] == (x, x)
    assert tlob["bin_norm"] == ((1, 40, 128), (1, 40, 128)) and tlob["classifiers.0"] == ((1, 40), (1, 3))
    iiga = {row.module: row.shapes for row in cost_count.rows(DOCUMENT, 12)}
    assert iiga["front.cnn.features.0"] == ((12, 3, 224, 224), (12, 32, 112, 112))
    assert iiga["front.cnn.features.18"][1] == (12, 1280, 7, 7)
    assert iiga["layers.0.attention"] == ((1, 12, 1280), (1, 12, 1280), (1, 8, 12, 12))
    assert iiga["decoder"] == ((1, 12, 1280), (1, 12, 1232))
