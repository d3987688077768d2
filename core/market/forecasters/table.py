"""A forecaster that is a CSV or Parquet file of timestamped probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.forecasters.protocol import Checked, Fault, ForecasterError, ForecastTask, check, head_name
from core.market.labels import Head
from core.messages import compose
from core.models.tlob import CLASSES

MAX_ROWS = 5_000_000
SUFFIXES = (".csv", ".parquet")


class TableForecaster:
    """Probabilities by the time of a window's last row.

    Columns: `timestamp` (milliseconds since the epoch), and for each head that the file answers `<label>_<horizon>_p_down`,
    `_p_stationary` and `_p_up`, as `core.market.answers.predictions.predictions_table` has them. A time that it lacks is missing.

    Args:
        frame: the table. name: of the file, for messages.

    Raises:
        ForecasterError: where columns are missing or timestamps repeat.
    """

    def __init__(self, frame: pd.DataFrame, task: ForecastTask, *, name: str) -> None:
        if "timestamp" not in frame:
            raise ForecasterError("{name} has no column timestamp: milliseconds since the epoch are right", name=name)
        if len(frame) > MAX_ROWS:
            raise ForecasterError(
                "{name} has {rows:,} rows: at most {most:,} are read", name=name, rows=len(frame), most=MAX_ROWS
            )
        self.name, self.heads = name, task.heads
        times = pd.to_numeric(frame["timestamp"], errors="coerce").to_numpy(dtype=np.float64)
        if not np.isfinite(times).all():
            raise ForecasterError("{name} has a timestamp that is no number of milliseconds", name=name)
        order = np.argsort(times, kind="stable")
        self._times = times[order].astype(np.int64)
        if (np.diff(self._times) == 0).any():
            raise ForecasterError("{name} has two rows of one timestamp", name=name)
        self._columns: dict[Head, NDArray[np.float64]] = {}
        for head in task.heads:
            columns = [f"{head_name(head)}_p_{label.lower()}" for label in CLASSES]
            there = [column in frame for column in columns]
            if all(there):
                numbers = frame[columns].apply(pd.to_numeric, errors="coerce")
                self._columns[head] = numbers.to_numpy(dtype=np.float64)[order]
            elif any(there):
                raise ForecasterError("{name} lacks the column {column}", name=name, column=columns[there.index(False)])
        if not self._columns:
            first = f"{head_name(task.heads[0])}_p_down"
            raise ForecasterError(
                "{name} has no columns of probabilities: names such as {first} are right", name=name, first=first
            )

    @classmethod
    def read(cls, source: Path | IO[bytes], task: ForecastTask, *, name: str = "") -> TableForecaster:
        """From a .csv or .parquet file.

        Args:
            name: of a file that is not on disk.

        Raises:
            ForecasterError: where it cannot be read or is not such a table.
        """
        name = source.name if isinstance(source, Path) else name
        try:
            frame = pd.read_parquet(source) if Path(name).suffix == ".parquet" else pd.read_csv(source)
        except FileNotFoundError as error:
            raise ForecasterError("there is no file {name}", name=name) from error
        except (OSError, ValueError, pd.errors.ParserError) as error:
            raise ForecasterError("{name} cannot be read: a CSV or Parquet table is right", name=name) from error
        return cls(frame, task, name=name)

    def predict_at(self, timestamps: NDArray[np.int64], windows: FloatArray) -> Checked:
        """The file's rows at these times, ABSENT where it has none."""
        at = np.searchsorted(self._times, timestamps)
        there = np.append(self._times, -1)[at] == timestamps
        faults = np.full((len(timestamps), len(self.heads)), Fault.ABSENT, dtype=np.int8)
        probabilities = np.full((*faults.shape, 3), np.nan)
        answers = {head: p[at[there]] for head, p in self._columns.items()}
        checked = check(answers, self.name, int(there.sum()), self.heads)
        probabilities[there], faults[there] = checked.probabilities, checked.faults
        faults[:, [head not in self._columns for head in self.heads]] = Fault.NOT_OFFERED
        reason = checked.reason
        if not reason and not there.all():
            reason = compose("{name} has no row for some of the times.", name=self.name)
        return Checked(probabilities=probabilities, faults=faults, reason=reason)
