"""Retention: which checkpoints stay, and what is deleted with those that go.

Files are deleted after the manifests that name them, so a crash in between leaves garbage, never
a checkpoint with holes. Garbage is found again as an orphan: a file that nothing refers to. Those
are left alone until they are old, for a task may still be writing what the next checkpoint names.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Container, Iterable

from millrace.common.crash import crash_point
from millrace.state.checkpoint.directory import (
    SHARED,
    checkpoint_numbers,
    remove_checkpoint,
)
from millrace.state.checkpoint.files import StrPath, delete_quietly

__all__ = ["ORPHAN_AGE", "Retention"]

ORPHAN_AGE = 3600.0
"""Seconds."""
SWEEP_EVERY = 64
"""Checkpoints between two searches for orphans; the first checkpoint of a run begins with one."""


class Retention:
    """Keeps the newest ``retained`` usable checkpoints of one job directory.

    Args:
        orphan_age: seconds since its last change after which an orphan is deleted.
        clock: seconds since the epoch of Unix, as the times of files are.
    """

    def __init__(
        self,
        job_dir: StrPath,
        retained: int,
        orphan_age: float = ORPHAN_AGE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._job_dir = job_dir
        self._retained = max(1, retained)
        self._orphan_age = orphan_age
        self._clock = clock
        self._usable: list[int] = []
        self._damaged: list[int] = []
        self._condemned: list[tuple[int, str]] = []
        """(first checkpoint that does not refer to it, path)."""
        self._until_sweep = 0
        self._kept: int | None = None

    def begin(self, usable: Iterable[int], damaged: Iterable[int], keep: int | None = None) -> None:
        """Take over the checkpoints of earlier runs. ``keep`` stays as long as this run: the
        newest of a history that this run does not go on from."""
        self._kept = keep
        self._usable = sorted(usable)
        self._damaged = sorted(damaged)
        self._condemned.clear()

    def condemn(self, paths: Iterable[str], number: int) -> None:
        """Files to which checkpoint ``number`` and those after it do not refer."""
        self._condemned += [(number, path) for path in paths]

    def published(self, number: int, in_use: Callable[[], Container[str]]) -> None:
        """Checkpoint ``number`` is complete; delete what is no longer wanted.

        ``in_use`` tells which files it refers to; it is only asked when orphans are searched for.
        """
        self._usable.append(number)
        oldest = self._usable[-self._retained :][0]
        self._remove_older_than(oldest)
        crash_point("during-retention")
        self._delete_condemned(oldest, number)
        if self._until_sweep == 0:
            self._sweep_orphans(in_use())
        self._until_sweep = (self._until_sweep or SWEEP_EVERY) - 1

    def _remove_older_than(self, oldest: int) -> None:
        for number in checkpoint_numbers(self._job_dir):
            if number < oldest and number != self._kept:
                remove_checkpoint(self._job_dir, number)
        self._usable = [number for number in self._usable if number >= oldest]
        self._damaged = [number for number in self._damaged if number >= oldest]

    def _delete_condemned(self, oldest: int, newest: int) -> None:
        """One checkpoint late at the earliest: a running epoch may still read the files."""
        staying: list[tuple[int, str]] = []
        for number, path in self._condemned:
            needed = self._kept is not None and number > self._kept
            if number <= oldest and number < newest and not needed:
                delete_quietly(os.path.join(self._job_dir, path))
            else:
                staying.append((number, path))
        self._condemned = staying

    def _sweep_orphans(self, in_use: Container[str]) -> None:
        if self._damaged:
            return  # nobody knows what these refer to
        condemned = {path for _, path in self._condemned}
        latest = self._clock() - self._orphan_age
        with contextlib.suppress(OSError), os.scandir(os.path.join(self._job_dir, SHARED)) as found:
            for file in found:
                path = f"{SHARED}/{file.name}"
                if path not in in_use and path not in condemned and _changed(file) < latest:
                    delete_quietly(file.path)


def _changed(file: os.DirEntry[str]) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return float("inf")
