"""Every call that writes made to fail once, at every place, while recording, converting and training.

As SQLite tests itself: afterwards every file reads, nothing that was acknowledged is lost, and the next start goes on. The same
where the process is killed in the middle of that call, which gives it no chance to clean up.
"""

import builtins
import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file

from core import checkpoints
from core.market.book import BookRows
from core.market.events import Row, Trade
from core.market.formats import conversion
from core.market.formats.tables import FormatError
from core.market.grid import HOUR_MS
from core.market.made_again import known_predictors, make_again
from core.market.store.writer import SegmentWriter, restore_recordings
from core.training.loop import LoopSettings, fit
from tests.core.market.helpers import frame_from_rows, random_book, read_rows, tiny_card, tiny_config, tiny_model, tiny_predictor
from tests.core.market.journals import Journalled, live
from tests.core.training.test_loop import CPU, Regression, equal, network

PLAIN = ("fsync", "replace", "unlink", "mkdir")


class Killed(Exception):
    """Stands for kill -9."""


class Faults:
    """Counts calls that write, and makes the one of this number fail; a write that fails has written its first half."""

    def __init__(self, wanted: int, error: type[Exception]) -> None:
        self.wanted, self.error, self.count = wanted, error, 0
        self.places: dict[tuple[str, ...], list[int]] = {}

    def here(self) -> bool:
        self.count += 1
        if self.wanted < 0:
            self.places.setdefault(lines_of_core(), []).append(self.count - 1)
        return self.count - 1 == self.wanted

    @property
    def chosen(self) -> list[int]:
        """Of the calls that each place makes the first two and the last: a Parquet file alone is written by a hundred."""
        return sorted({number for calls in self.places.values() for number in (*calls[:2], calls[-1])})

    def fail(self) -> None:
        if self.error is Killed:
            os._exit(9)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if self.error is OSError else self.error()


def lines_of_core() -> tuple[str, ...]:
    """The lines of `core` that a call comes from."""
    frame, lines = sys._getframe(), []
    while frame := frame.f_back:  # type: ignore[assignment]  # as traceback.extract_stack, which reads every line's text
        if "/core/" in frame.f_code.co_filename:
            lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
    return tuple(lines)


class FailingFile:
    """A file whose writes are counted."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file, self._faults = file, faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def write(self, data: Any) -> int:
        if self._faults.here():
            self._file.write(data[: len(data) // 2])
            self._faults.fail()
        return int(self._file.write(data))


@contextmanager
def failing(wanted: int, error: type[Exception]) -> Iterator[Faults]:
    """Has the call of this number fail; none of them for -1."""
    faults, really = Faults(wanted, error), io.open

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if not set(mode) & set("wax+"):
            return really(file, mode, *rest, **named)
        if faults.here():
            faults.fail()
        return FailingFile(really(file, mode, *rest, **named), faults)

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if faults.here():
                faults.fail()
            return function(*given, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        for name in PLAIN:
            patch.setattr(os, name, counted(getattr(os, name)))
        yield faults


def at_every_place(
    folder: Path, work: Callable[[Path, list[int]], None], check: Callable[[Path, int], None], *, least: int, kills: bool = False
) -> None:
    """Work that notes what was acknowledged, with each of its calls failing once, and the state afterwards checked."""
    with failing(-1, OSError) as whole:
        work(folder / "whole", acknowledged := [0])
    check(folder / "whole", acknowledged[-1])
    assert whole.count >= least
    gc.freeze()  # what the work imported need not be looked through each time
    for error in (OSError, MemoryError, Killed) if kills else (OSError, MemoryError):
        for number in whole.chosen[:: 2 if kills and error is MemoryError else 1]:
            place, acknowledged = folder / f"{error.__name__}_{number}", [0]
            if error is Killed:
                acknowledged = [killed_at(number, work, place)]
            else:
                with failing(number, error), suppress(error):
                    work(place, acknowledged)
            gc.collect()  # as a process that ends closes what it holds
            check(place, acknowledged[-1])


class Told(list[int]):
    """Numbers that another process is told as well."""

    def __init__(self, pipe: int) -> None:
        super().__init__([0])
        self._pipe = pipe

    def append(self, number: int) -> None:
        os.write(self._pipe, number.to_bytes(4, "little"))
        super().append(number)


def killed_at(number: int, work: Callable[[Path, list[int]], None], place: Path) -> int:
    """Work of a process that is killed in its call of this number; returns the last that it acknowledged."""
    read, write = os.pipe()
    if not (child := os.fork()):
        try:
            with failing(number, Killed):
                work(place, Told(write))
        finally:
            os._exit(0)
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with open(read, "rb") as told:
        return int.from_bytes(told.read()[-4:], "little")


ROWS = random_book(16, 3)
TURN = ROWS.timestamps[0] // HOUR_MS * HOUR_MS + HOUR_MS
TIMES = TURN - 8 * 250 + 250 * np.arange(16)
"""An hour ends after eight of the rows."""


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_recording(tmp_path: Path, goes_on: bool) -> None:
    def work(folder: Path, acknowledged: list[int]) -> None:
        with SegmentWriter(folder, "ABC/USD") as writer:
            for number, (time, levels) in enumerate(zip(TIMES.tolist(), ROWS.levels, strict=True), 1):
                writer.add(Row(timestamp=time, levels=levels))
                writer.add_trade(Trade(exchange_ms=time, price=1.0, size=float(number), side="buy"))
                if number % 4 == 0:
                    try:
                        writer.save_journal()
                        acknowledged.append(number)
                    except (OSError, MemoryError):
                        if not goes_on:
                            raise

    def check(folder: Path, acknowledged: int) -> None:
        restore_recordings(folder)
        assert not list(folder.rglob("*.part")) and not list(folder.rglob("*.damaged"))
        files = sorted(folder.rglob("rows_*.parquet"))
        rows = [read_rows(path) for path in files]
        times = np.concatenate([[], *(one.timestamps for one in rows)])
        assert times.tolist() == TIMES[: len(times)].tolist() and len(times) >= acknowledged
        sizes = [size for path in sorted(folder.rglob("trades_*.parquet")) for size in pq.read_table(path)["size"].to_pylist()]
        assert sorted(sizes) == list(range(1, len(sizes) + 1)) and len(sizes) >= acknowledged

    at_every_place(tmp_path, work, check, least=30, kills=goes_on)


def test_a_recording_with_its_journal(tmp_path: Path) -> None:
    shelf, rows = tmp_path / "shelf", random_book(24 + 6, 3)
    predictor = tiny_predictor(shelf, random_book(180, 3))
    find = known_predictors(shelf)
    rows = BookRows(timestamps=TURN - 250 * (24 + 2) + 250 * np.arange(len(rows)), levels=rows.levels)

    def work(folder: Path, acknowledged: list[int]) -> None:
        one = Journalled(folder, predictor)
        for number, event in enumerate(live(rows)):
            one.take(event)
            before = number // 2  # rows that are confirmed: a call is on disk with them
            acknowledged.append(before if isinstance(event, Row) and before >= 23 else acknowledged[-1])
        one.close()

    def check(folder: Path, acknowledged: int) -> None:
        restore_recordings(folder)
        assert not list(folder.rglob("*.part")) and not list(folder.rglob("*.damaged"))
        files = sorted(folder.rglob("rows_*.parquet"))
        seen = sum(pq.read_metadata(path).num_rows for path in files)
        assert seen >= acknowledged
        if seen < predictor.window:
            assert sum(len(read_rows(path)) for path in files) == seen
        else:  # which reads them
            result = make_again("it", files, find)
            assert result.equal == result.predictions == len(predictor.heads) * (seen - predictor.window + 1)

    at_every_place(tmp_path, work, check, least=30, kills=True)


def test_a_conversion(tmp_path: Path) -> None:
    source = tmp_path / "mine.csv"
    frame_from_rows(random_book(40, 5)).to_csv(source, index=False)
    files, seen = {source.name: source}, conversion.inspect({source.name: source})
    expected = read_rows(source).timestamps.tolist()

    def convert(folder: Path) -> None:
        conversion.convert(files, folder / "made.parquet", market="ABC/USD", seen=seen)

    def work(folder: Path, acknowledged: list[int]) -> None:
        convert(folder)
        acknowledged.append(len(expected))

    def check(folder: Path, acknowledged: int) -> None:
        assert not list(folder.rglob(".*"))
        with suppress(FormatError):  # it is there, whole
            convert(folder)
        assert read_rows(folder / "made.parquet").timestamps.tolist() == expected

    at_every_place(tmp_path, work, check, least=5)


SETTINGS = LoopSettings(epochs=2, steps_per_epoch=6, peak_rate=0.05, ema=0.9)


def test_a_training_and_its_state(tmp_path: Path) -> None:
    expected = network()
    fit(expected, Regression(), SETTINGS, device=CPU)

    def work(folder: Path, acknowledged: list[int]) -> None:
        fit(network(), Regression(), SETTINGS, device=CPU, resume_from=folder / "run")
        acknowledged.append(1)

    def check(folder: Path, acknowledged: int) -> None:
        if (state := folder / "run.safetensors").exists():
            load_file(state)
        assert acknowledged == 0 or state.exists()
        model = network()
        fit(model, Regression(), SETTINGS, device=CPU, resume_from=folder / "run")
        assert equal(dict(model.state_dict()), dict(expected.state_dict()))

    at_every_place(tmp_path, work, check, least=2 * 4)


def test_a_checkpoint_that_replaces_another(tmp_path: Path) -> None:
    card, first, second = tiny_card(random_book(120, 1)), tiny_model(tiny_config(), 1), tiny_model(tiny_config(), 2)

    def work(folder: Path, acknowledged: list[int]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        checkpoints.save("one", first, card, folder=folder)
        acknowledged.append(1)
        checkpoints.save("one", second, card, folder=folder)
        acknowledged.append(2)

    def check(folder: Path, acknowledged: int) -> None:
        if acknowledged == 0 and not (folder / "one.json").exists():
            return
        weights = checkpoints.load("one", folder=folder).weights  # checked against the card
        known = [acknowledged, acknowledged + 1]
        assert any(equal(weights, dict(model.state_dict())) for number, model in ((1, first), (2, second)) if number in known)
        assert {path.name for path in folder.iterdir()} == {"one.json", "one.safetensors"}

    at_every_place(tmp_path, work, check, least=16)
