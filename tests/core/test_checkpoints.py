"""Checkpoints: what is saved is loaded, what was tampered with is refused in one sentence, and nothing is ever unpickled."""

import hashlib
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from core import checkpoints
from core.checkpoints import REQUIRED, Checkpoint, CheckpointError
from core.models.tlob import TLOB
from tests.core.market.helpers import UNTRAINED

CARD: dict[str, Any] = {"model": "toy", "config": {"width": 3}, **UNTRAINED}


def toy(width: int = 3, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(width, 4), nn.BatchNorm1d(4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkpoints.save("toy", toy(), CARD, folder=tmp_path)
    return tmp_path


def test_what_is_saved_is_loaded(folder: Path) -> None:
    found = checkpoints.load("toy", folder=folder)
    model = toy(seed=1)
    checkpoints.restore(model, found)
    expected = toy().state_dict()
    assert found.weights.keys() == expected.keys()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in expected.items())
    assert not model.training


def test_the_card_is_completed(folder: Path) -> None:
    card = checkpoints.read_card("toy", folder=folder)
    assert {key: card[key] for key in CARD} == CARD
    assert card["name"] == "toy"
    assert card["parameters"] == 3 * 4 + 4 + 4 + 4
    assert card["weights_sha256"] == hashlib.sha256((folder / "toy.safetensors").read_bytes()).hexdigest()
    assert (date.today() - date.fromisoformat(card["date"])).days in (-1, 0, 1)
    assert set(card) == set(REQUIRED)


def test_names_are_listed_by_model(folder: Path) -> None:
    checkpoints.save("another", toy(), {**CARD, "model": "other"}, folder=folder)
    assert checkpoints.names(folder=folder) == ["another", "toy"]
    assert checkpoints.names("toy", folder=folder) == ["toy"]
    assert checkpoints.names("vit", folder=folder) == []
    (folder / "broken.json").write_text("{")
    assert checkpoints.names(folder=folder) == ["another", "toy"]


def edit_card(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / "toy.json"
        card = json.loads(path.read_text())
        path.write_text(json.dumps(change(card) or card))

    return apply


def flip_a_bit(folder: Path) -> None:
    path = folder / "toy.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))


def replaced(folder: Path, content: bytes) -> None:
    """Other bytes, and the card's digest made to fit: what is no safetensors file is still refused."""
    (folder / "toy.safetensors").write_bytes(content)
    edit_card(lambda card: {**card, "weights_sha256": hashlib.sha256(content).hexdigest()})(folder)


PICKLE = b"\x80\x04\x95\x1d" + bytes(7) + b"\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04exit\x94\x85\x94R\x94."
"""It would run code: refused before anything is unpacked."""


def swap(folder: Path) -> None:
    checkpoints.save("other", toy(seed=5), CARD, folder=folder)
    (folder / "other.safetensors").replace(folder / "toy.safetensors")
    (folder / "other.json").unlink()


def without(card: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in card.items() if key not in keys}


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit flipped": (flip_a_bit, "the weights toy.safetensors are not those of the card toy.json: their SHA-256 differs"),
    "another's weights": (swap, "the weights toy.safetensors are not those of the card toy.json: their SHA-256 differs"),
    "cut short": (lambda f: replaced(f, (f / "toy.safetensors").read_bytes()[:100]), "the weights toy.safetensors are damaged: "),
    "a pickle": (lambda f: replaced(f, PICKLE), "the weights toy.safetensors are damaged: "),
    "no weights": (lambda f: (f / "toy.safetensors").unlink(), "the weights toy.safetensors are missing: the card"),
    "no card": (lambda f: (f / "toy.json").unlink(), "there is no checkpoint named 'toy': there are none"),
    "no JSON": (lambda f: (f / "toy.json").write_text("{'a': 1}"), "the card toy.json is not valid JSON: "),
    "no text": (lambda f: (f / "toy.json").write_bytes(b"\xff\xfe\x00"), "the card toy.json is not valid JSON: "),
    "no object": (lambda f: (f / "toy.json").write_text("[1]"), "the card toy.json is not a JSON object"),
    "another name": (edit_card(lambda card: {**card, "name": "tom"}), "the card toy.json calls itself 'tom'"),
    **{f"no {key}": (edit_card(lambda card, key=key: without(card, key)), f"the card toy.json lacks {key}") for key in REQUIRED},
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_what_does_not_hold_together_is_refused_in_one_sentence(folder: Path, fault: str) -> None:
    breaking, sentence = FAULTS[fault]
    checkpoints.load("toy", folder=folder)
    breaking(folder)
    with pytest.raises(CheckpointError) as caught:
        checkpoints.load("toy", folder=folder)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_name_that_is_not_there_is_answered_with_those_that_are(folder: Path) -> None:
    checkpoints.save("another", toy(), CARD, folder=folder)
    with pytest.raises(CheckpointError, match="there is no checkpoint named 'tlob': there are another, toy"):
        checkpoints.load("tlob", folder=folder)


@pytest.mark.parametrize("module", [toy(width=5), nn.Linear(3, 4)], ids=["another shape", "another network"])
def test_weights_that_do_not_fit_are_refused_in_one_sentence(folder: Path, module: nn.Module) -> None:
    with pytest.raises(CheckpointError, match="the weights of 'toy' do not fit its card's config: ") as caught:
        checkpoints.restore(module, checkpoints.load("toy", folder=folder))
    assert "\n" not in str(caught.value)


def test_an_incomplete_card_is_not_saved_and_harms_nothing(folder: Path) -> None:
    with pytest.raises(CheckpointError, match=r"the card toy.json lacks split, seed"):
        checkpoints.save("toy", toy(seed=9), without(CARD, "seed", "split"), folder=folder)
    assert torch.equal(checkpoints.load("toy", folder=folder).weights["0.weight"], toy().state_dict()["0.weight"])
    with pytest.raises(CheckpointError):
        checkpoints.save("new", toy(), {}, folder=folder)
    assert checkpoints.names(folder=folder) == ["toy"]
    assert not (folder / "new.safetensors").exists()


def test_files_are_described_by_name_and_digest(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc", FIPS 180-2
    assert checkpoints.describe_files([tmp_path / "a.csv"]) == [{"file": "a.csv", "sha256": digest}]


def test_versions_leave_out_what_is_not_installed() -> None:
    found = checkpoints.versions("torch", "no-such-package")
    assert found["torch"] == torch.__version__
    assert set(found) == {"python", "torch"}


@pytest.mark.parametrize(("entry", "value"), [("width", 6_000), ("steps", 3_000_000), ("steps", 10**15), ("outputs", 10**7)])
def test_a_config_that_asks_for_other_shapes_is_refused_before_memory_is_taken(
    entry: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of the app and a card of somebody's: to build it would take gigabytes."""
    shipped = checkpoints.load("tlob")
    card = {**shipped.card, "config": {**shipped.card["config"], entry: value}}
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", lambda *_: pytest.fail("it was built"))
    with pytest.raises(CheckpointError, match="do not fit its card's config"):
        checkpoints.build_model(Checkpoint(card=card, weights=shipped.weights), TLOB)
