"""Receipts: what made a result, in enough detail to make it again and compare.

A receipt is a JSON object that a report or a card carries under "receipt": the arguments of `python -m core`, the files by
SHA-256, the checkpoints by that of their weights, the seed, the versions, and the numbers that came out. Paths of a machine are
not in it: arguments name files below `DATA`, `CHECKPOINTS` and `OUT`.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from core import checkpoints
from core.messages import Refusal

DATA: Final = "@data"
CHECKPOINTS: Final = "@checkpoints"
OUT: Final = "@out"
FORMAT: Final = 1
PACKAGES: Final = ("torch", "numpy", "pandas", "pyarrow", "safetensors")
TOLERANCES: Final = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
"""Largest differences of numbers, relative where they exceed 1, from exact to the most that counts as agreement: float32's
error on another machine moves a probability by about 1e-6, and a call on a border with it."""
FIGURE: Final = '"meta":{"receipt":'
"""Text before the receipt of a figure exported as HTML: in its layout."""


class ReceiptError(Refusal, ValueError):
    """A receipt that cannot be read, or not be made again here; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Facts by which a result can be made again.

    Attributes:
        kind: "score" or "training". command: arguments of `python -m core`, with the places of this module.
        data: file below `DATA` -> SHA-256. weights: checkpoint below `CHECKPOINTS` -> SHA-256 of its weights.
        results: the numbers that came out, nested. seed: None where nothing was drawn at random.
        versions, date: of the packages and of the day.
    """

    kind: str
    command: list[str]
    data: dict[str, str]
    weights: dict[str, str]
    results: dict[str, Any]
    seed: int | None = None
    versions: dict[str, str] = field(default_factory=lambda: checkpoints.versions(*PACKAGES))
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    format: int = FORMAT

    def to_dict(self) -> dict[str, Any]:
        """As JSON's object."""
        return asdict(self)

    @property
    def shell(self) -> str:
        """The command for a person, with files named but not placed."""
        words = [re.sub(rf"^({DATA}|{CHECKPOINTS}|{OUT})/", "", word) for word in self.command]
        return "python -m core " + " ".join(words)

    def of(self, *names: str) -> dict[str, Any]:
        """As JSON's object with these results alone, for a figure."""
        return self.to_dict() | {"results": {name: self.results[name] for name in names}}


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Comparison of a result with the one made again.

    Attributes:
        numbers: compared. largest: difference, relative where numbers exceed 1. at: where. tolerance: the least of `TOLERANCES`
            that covers it; None where none does.
        versions: package -> (then, now), where they differ.
    """

    numbers: int
    largest: float
    at: str
    tolerance: float | None
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Tells whether all numbers lie within the largest tolerance."""
        return self.tolerance is not None


def read_receipt(path: Path) -> Receipt:
    """The receipt of a JSON or HTML file that carries one.

    Raises:
        ReceiptError: where the file is not there, or carries none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReceiptError("{file} cannot be read: a report's JSON file or a card is right", file=path.name) from error
    try:
        values = _object_in(text)
        values = values.get("receipt", values)
        if values["format"] != FORMAT:
            raise ReceiptError("{file} has a receipt of another format than this version reads", file=path.name)
        return Receipt(**values)
    except ReceiptError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ReceiptError(
            "{file} carries no receipt: a report, or a card that was trained from the app, does", file=path.name
        ) from error


def _object_in(text: str) -> dict[str, Any]:
    """A receipt's JSON in a JSON file, or the layout of an exported figure.

    Raises:
        ValueError: where there is none.
    """
    if not text.lstrip().startswith("{"):
        text = text[text.index(FIGURE) + len(FIGURE) :]
    values: dict[str, Any] = json.JSONDecoder().raw_decode(text.lstrip())[0]
    return values


def make_again(
    receipt: Receipt, places: Iterable[Path], run: Callable[[list[str]], dict[str, Any]], *, folder: Path | None = None
) -> Agreement:
    """Run a receipt's command on the same files and weights, and compare the numbers.

    Args:
        places: folders and files among which data and checkpoints are looked for, by their hashes.
        run: runs a command line and returns the results of its receipt.
        folder: where to work; a temporary one where None.

    Raises:
        ReceiptError: where a file or a checkpoint is not found; the message names it.
    """
    with tempfile.TemporaryDirectory() as made:
        work = folder or Path(made)
        files = _find(receipt, [place for place in places if place.exists()])
        for name, source in files.items():
            target = work / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source.resolve())
        results = run([_placed(word, work) for word in receipt.command])
    now = checkpoints.versions(*PACKAGES)
    changed = {name: (then, now.get(name, "-")) for name, then in receipt.versions.items() if now.get(name) != then}
    return compare(receipt.results, {name: results.get(name) for name in receipt.results}, versions=changed)


def compare(then: Mapping[str, Any], now: Mapping[str, Any], *, versions: dict[str, tuple[str, str]] | None = None) -> Agreement:
    """The largest difference between two nested results; infinite where one has an entry that the other lacks."""
    first, second = dict(_numbers(then, "")), dict(_numbers(now, ""))
    largest, at = 0.0, ""
    for place in first.keys() | second.keys():
        difference = _difference(first.get(place, _ABSENT), second.get(place, _ABSENT))
        if difference > largest or not at:
            largest, at = max(largest, difference), place
    tolerance = next((one for one in TOLERANCES if largest <= one), None)
    return Agreement(numbers=len(first), largest=largest, at=at, tolerance=tolerance, versions=versions or {})


_ABSENT: Final = object()


def _difference(a: Any, b: Any) -> float:
    if a == b:
        return 0.0
    if not (isinstance(a, int | float) and isinstance(b, int | float)):
        return math.inf
    return abs(a - b) / max(1.0, abs(a), abs(b))


def _numbers(value: Any, place: str) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _numbers(one, f"{place}/{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, one in enumerate(value):
            yield from _numbers(one, f"{place}/{index}")
    else:
        yield place, value


def _placed(word: str, work: Path) -> str:
    for place in (DATA, CHECKPOINTS, OUT):
        if word == place or word.startswith(f"{place}/"):
            return str(work / word)
    return word


def _find(receipt: Receipt, places: Sequence[Path]) -> dict[str, Path]:
    """Finds the receipt's files: path below the working folder -> file.

    Raises:
        ReceiptError: for the first that is not found.
    """
    files_of: dict[str, Path] = {}
    known: dict[Path, str] = {}
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*"))) if path.is_file()]
    for name, wanted in receipt.data.items():
        suffix = Path(name).suffix
        for path in (path for path in files if path.suffix == suffix):
            if known.setdefault(path, "") == "":
                known[path] = checkpoints.sha256(path)
            if known[path] == wanted:
                files_of[f"{DATA}/{name}"] = path
                break
        else:
            raise ReceiptError(
                "the file {name} (SHA-256 {hash}…) is in none of the folders: name its folder with --data",
                name=name,
                hash=wanted[:12],
            )
    for name, wanted in receipt.weights.items():
        card = next((path for path in files if path.name == f"{name}.json" and _weights_of(path) == wanted), None)
        if card is None:
            raise ReceiptError(
                "the checkpoint {name} with weights {hash}… is in none of the folders: name its folder with --checkpoints",
                name=name,
                hash=wanted[:12],
            )
        for path in (card, card.with_suffix(".safetensors")):
            files_of[f"{CHECKPOINTS}/{path.name}"] = path
    return files_of


def _weights_of(card: Path) -> str:
    try:
        values = json.loads(card.read_text(encoding="utf-8"))
        return str(values["weights_sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
