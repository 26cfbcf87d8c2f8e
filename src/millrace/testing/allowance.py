"""The number of records that a source may read. A test raises it while its job runs, so that the
job lasts until the events for which the test waits have happened, on a machine of any speed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from millrace.common.source import (
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import RowBatch
from millrace.engine.job_details import Listener

__all__ = ["AllowedNumbers", "Allowance"]

PATIENCE_S = 200.0
"""Seconds after which an allowance is final although the test still waits for something."""


class Allowance:
    """The number of records that a source may read. It is kept in a file, so that readers in other
    processes can read it.

    It begins with a share. A listener adds another one after each accepted epoch, so that the job
    has at least as many epochs as shares. The next process of a job makes another allowance of the
    same file, which adds a share, too: there is always something to read.

    Args:
        path: the file. Its directory exists.
        share: number of records of an epoch.
    """

    def __init__(self, path: str | os.PathLike[str], share: int) -> None:
        self._path = os.fspath(path)
        self._end = f"{self._path}.ended"
        self.share = share
        with open(self._path, "ab"):
            """Make the file. Its size is the number."""
        self.add(share)

    @property
    def count(self) -> int:
        """Number of records that may be read."""
        return os.stat(self._path).st_size

    @property
    def has_ended(self) -> bool:
        """Whether the number of allowed records is final."""
        return os.path.exists(self._end)

    def add(self, records: int) -> None:
        """Allow further records, unless the number is final."""
        if not self.has_ended:
            os.truncate(self._path, self.count + records)

    def end(self) -> None:
        """Make the number of allowed records final, so that the source ends after these records."""
        with open(self._end, "wb"):
            """Make the file."""

    def grow(self) -> Listener:
        """A listener of the job that allows further records after each accepted epoch."""
        return lambda details: self.add(self.share)

    def grow_until(
        self, is_over: Callable[[], bool], further_epochs: int = 3, patience_s: float = PATIENCE_S
    ) -> Listener:
        """A listener of the job that allows the source further records after each accepted epoch.
        When ``is_over`` returns true and some further epochs have begun, it makes the number final.

        Args:
            is_over: tells whether everything that the job has to live through has happened.
            further_epochs: number of epochs that begin afterwards.
            patience_s: seconds after which the number becomes final in any case.
        """
        until, left = time.monotonic() + patience_s, further_epochs

        def listen(details: object) -> None:
            nonlocal left
            left -= is_over()
            if left < 0 or time.monotonic() > until:
                self.end()
            else:
                self.add(self.share)

        return listen


class AllowedNumbers(SplitSource[int]):
    """Source of the numbers from 0 on, as far as the allowance permits.

    Args:
        allowance: the number of numbers. The source ends when it is final.
        splits: number of splits. The number ``n`` is in the split ``n % splits``.
    """

    def __init__(self, allowance: Allowance, splits: int = 1) -> None:
        self._allowance = allowance
        self._splits = splits

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit(str(number)) for number in range(self._splits)])

    def create_split_reader(
        self, split: SourceSplit, position: int | None, context: ReaderContext
    ) -> SplitReader[int]:
        first = int(split.split_id) if position is None else position
        return _Reader(self._allowance, first, self._splits)


class _Reader(SplitReader[int]):
    def __init__(self, allowance: Allowance, first: int, step: int) -> None:
        self._allowance = allowance
        self._next = first
        self._step = step

    def read(self, max_records: int) -> RowBatch[int]:
        end = min(self._allowance.count, self._next + max_records * self._step)
        numbers = list(range(self._next, end, self._step))
        self._next += len(numbers) * self._step
        return RowBatch(numbers)

    def position(self) -> int:
        return self._next

    def finished(self) -> bool:
        # whether it is final is asked first, as it may grow until then
        return self._allowance.has_ended and self._next >= self._allowance.count

    def next_wakeup(self, now: int) -> int:
        return now + 1
