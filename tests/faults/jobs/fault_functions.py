"""User functions that fail a number of times, counted over all processes by files."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from fault_pipeline import Value


def take_ticket(directory: str, name: str, tickets: int) -> bool:
    """Take one of so many tickets of that name; False when all are gone."""
    for number in range(tickets):
        try:
            os.close(os.open(Path(directory, f"{name}-{number}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return True
    return False


@dataclass
class KillsItsProcess:
    """kill -9 of the Python worker at some records, ``times`` times each."""

    tickets: str
    indexes: Collection[int]
    times: int

    def __call__(self, value: Value) -> Value:
        index = value[0]
        if index in self.indexes and take_ticket(self.tickets, f"kill-{index}", self.times):
            os.kill(os.getpid(), signal.SIGKILL)
        return value


@dataclass
class Raises:
    """Raises at one record, ``times`` times."""

    tickets: str
    index: int
    times: int

    def __call__(self, value: Value) -> Value:
        if value[0] == self.index and take_ticket(self.tickets, "raise", self.times):
            raise ValueError(f"cannot stand {self.index}")
        return value
