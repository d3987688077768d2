"""Checkpoints people bring: loaded where they hold together, refused in one sentence where not, the document's size too."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from core.checkpoints import CheckpointError
from core.models.iiga import DOCUMENT, IIGA
from core.signs import uploaded_weights
from core.signs.recogniser import DIGITS
from core.signs.video import Footage
from tests.core.signs.tiny import save_tiny


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    folder = tmp_path_factory.mktemp("own")
    save_tiny(folder)
    return (folder / f"{DIGITS}.json").read_bytes(), (folder / f"{DIGITS}.safetensors").read_bytes()


def changed(card: bytes, weights: bytes, **values: Any) -> bytes:
    """The card with other values, and the digest of these weights."""
    return json.dumps({**json.loads(card), "weights_sha256": hashlib.sha256(weights).hexdigest(), **values}).encode()


def test_a_whole_pair_is_loaded(pair):
    card, weights = pair
    found = uploaded_weights.load_own(card, weights)
    assert found.name == DIGITS
    assert found.log_probabilities(np.zeros((3, 32, 32, 3), np.uint8)).shape == (3, 11)
    assert uploaded_weights.load_own(changed(card, weights, name="../../else"), weights).name == "../../else"  # never a path


def test_pairs_that_do_not_hold_together_are_refused(pair):
    card, weights = pair
    config = json.loads(card)["config"]
    tensors = load(weights)
    first = min(tensors)
    less = save({name: tensor for name, tensor in tensors.items() if name != first})
    more = save({**tensors, "zzz": tensors[first].clone()})
    other = save({**tensors, first: tensors[first].flatten()[:1].clone()})
    cases = {
        "SHA-256 differs": (card, less),
        "not valid JSON": (b"{", weights),
        "not a JSON object": (b"[]", weights),
        "of a 'vit'": (changed(card, weights, model="vit"), weights),
        "does not describe the model IIGA": (changed(card, weights, config={"depth": 3}), weights),
        "larger network": (changed(card, weights, config={**config, "layers": 10**6}), weights),
        "they lack": (changed(card, less), less),
        "no place for their zzz": (changed(card, more), more),
        r"is \(1,\), not": (changed(card, other), other),
        "no safetensors": (changed(card, b"hello" * 10), b"hello" * 10),
        "names 2 glosses": (changed(card, weights, vocabulary=["A", "B"]), weights),
        "lacks data": (json.dumps({k: v for k, v in json.loads(card).items() if k != "data"}).encode(), weights),
    }
    for sentence, (one, two) in cases.items():
        with pytest.raises(CheckpointError, match=sentence):
            uploaded_weights.load_own(one, two)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"scales": [1, 2]}, "does not describe the model IIGA: an entry is of another type"),
        ({"scales": {"pooled": 3}}, "an entry is of another type"),
        ({"vocabulary": 5}, "an entry is of another type"),
        ({"fps": {}}, "an entry is of another type"),
        ({"stride": float("inf")}, "an entry is of another type"),
        ({"config": []}, "has a config of another type"),
        ({"config": {"width": "wide"}}, "does not describe the model IIGA: width is 'wide': a whole number is needed"),
        ({"config": {"heads": 8.0}}, "heads is 8.0: a whole number is needed"),
        ({"config": {"front": ["frames"]}}, "front is .*: choose one of frames, tracks"),
        ({"config": {"dropout": float("nan")}}, "dropout is nan: a number is needed"),
        ({"model": {}}, "has a model of another type"),
        ({"name": None}, "has a name of another type"),
    ],
)
def test_a_card_with_entries_of_other_types_is_refused_in_a_sentence(pair, entry: dict[str, Any], sentence: str) -> None:
    card, weights = pair
    with pytest.raises(CheckpointError, match=sentence) as caught:
        uploaded_weights.load_own(changed(card, weights, **entry), weights)
    assert "\n" not in str(caught.value)


def test_a_deeply_nested_card_or_header_is_refused(pair) -> None:
    card, weights = pair
    with pytest.raises(CheckpointError, match="nested too deeply"):
        uploaded_weights.load_own(b"[" * 100_000 + b"]" * 100_000, weights)
    header = b"[" * 100_000
    nested = len(header).to_bytes(8, "little") + header
    with pytest.raises(CheckpointError, match="no safetensors"):
        uploaded_weights.load_own(changed(card, nested), nested)


def test_what_is_too_large_is_refused_before_it_is_read(pair, monkeypatch):
    monkeypatch.setattr(uploaded_weights, "MAX_MIB", 0)
    with pytest.raises(CheckpointError, match="up to 0 MiB"):
        uploaded_weights.load_own(*pair)


def test_the_documents_size_is_within_the_limits():
    with torch.device("meta"):
        size = sum(tensor.numel() for tensor in IIGA(DOCUMENT).state_dict().values()) * 4 / 2**20
    assert 300 < size < uploaded_weights.MAX_MIB
    settings = (Path(__file__).resolve().parents[3] / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    assert f"maxUploadSize = {uploaded_weights.MAX_MIB}" in settings
    assert uploaded_weights._config({"name": "x", "model": "iiga", "config": DOCUMENT.to_dict()}) == DOCUMENT


def test_a_store_keeps_the_newest_clips():
    clips = [
        Footage(frames=np.full((1, 2, 2, 3), level, np.uint8), fps=8, seconds=np.zeros(1), width=2, height=2)
        for level in range(uploaded_weights.KEPT + 1)
    ]
    keys = [uploaded_weights.STORE.keep((f"clip {number}", clip)) for number, clip in enumerate(clips)]
    assert uploaded_weights.STORE.find(keys[0]) is None
    assert uploaded_weights.STORE.find(keys[2]) == ("clip 2", clips[2])
    assert uploaded_weights.STORE.keep(("again", clips[1])) == keys[1]
