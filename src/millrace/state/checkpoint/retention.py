"""Retention: decides which checkpoints to keep, and deletes all other checkpoints with their files.

Files are deleted after the manifests that name them, so a crash in between leaves garbage, never
a checkpoint with holes. Garbage is found again as an orphan: a file that nothing refers to. Those
are left alone until they are old, for a task may still be writing what the next checkpoint names.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass

from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.directory import (
    SHARED,
    checkpoint_files,
    checkpoint_numbers,
    remove_checkpoint,
)
from millrace.state.checkpoint.files import StrPath, delete_quietly

__all__ = ["ORPHAN_AGE", "HeldCheckpoint", "Retention"]

ORPHAN_AGE = 3600.0
"""Minimum age in seconds at which a file without a checkpoint is deleted."""
SWEEP_EVERY = 64
"""Checkpoints between two searches for orphans; the first checkpoint of a run begins with one."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldCheckpoint:
    """Checkpoint that is kept even when enough newer checkpoints exist."""

    number: int
    paths: Collection[str]
    """Files to which the checkpoint refers."""


class Retention:
    """Keeps the newest ``retained`` usable checkpoints of one job directory.

    Args:
        orphan_age: seconds since its last change after which an orphan is deleted.
        clock: function that returns seconds since the epoch of Unix, like the times of files.
    """

    def __init__(
        self,
        job_dir: StrPath,
        retained: int,
        orphan_age: float = ORPHAN_AGE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._job_dir = os.fspath(job_dir)
        self._files = file_system_of(job_dir)
        self._retained = max(1, retained)
        self._orphan_age = orphan_age
        self._clock = clock
        self._numbers: set[int] | None = None
        """Numbers of all existing checkpoints, complete or not; None if they have not been
        listed yet."""
        self._usable: list[int] = []
        self._damaged: list[int] = []
        self._abandoned: set[int] = set()
        self._condemned: list[tuple[int, str]] = []
        """Files to delete: (number of the first checkpoint that does not refer to the file,
        path)."""
        self._gone_below = 0
        """Number below which all checkpoints have been deleted, except held ones."""
        self._until_sweep = 0
        self._kept: HeldCheckpoint | None = None
        self._held: set[HeldCheckpoint] = set()

    def begin(
        self,
        usable: Iterable[int],
        damaged: Iterable[int],
        keep: HeldCheckpoint | None = None,
        abandoned: Iterable[int] = (),
    ) -> None:
        """Take over the checkpoints of earlier runs. The checkpoint ``keep`` stays during this run:
        it is the newest one of a history that this run does not continue. The checkpoints
        ``abandoned`` are newer than the one from which this run continues, and are deleted with the
        next checkpoint.
        """
        self._abandoned = set(abandoned)
        self._kept = keep
        self._usable = sorted(usable)
        self._damaged = sorted(damaged)
        self._condemned.clear()

    def condemn(self, paths: Iterable[str], number: int) -> None:
        """Mark files for deletion, because checkpoint ``number`` and later ones do not refer to
        them."""
        self._condemned += [(number, path) for path in paths]

    def hold(self, held: HeldCheckpoint) -> None:
        """Protect all files of a checkpoint until it is released."""
        self._held.add(held)

    def let_go(self, held: HeldCheckpoint) -> None:
        """Release a held checkpoint, so that a later deletion may delete it. May be called from any
        thread, repeatedly.
        """
        self._held.discard(held)

    def published(self, number: int, in_use: Callable[[], Container[str]]) -> None:
        """Record that checkpoint ``number`` is complete, and delete checkpoints and files that are
        not needed any more.

        ``in_use`` returns the files to which the checkpoint refers. It is called only when orphans
        are searched for.
        """
        self._usable.append(number)
        if self._numbers is not None:
            # what lies between was begun and not completed
            self._numbers.update(range(max(self._numbers, default=number - 1) + 1, number + 1))
        oldest = self._usable[-self._retained :][0]
        held = self._all_held()
        numbers = {one.number for one in held}
        needed = {path for one in held for path in one.paths}
        if self._files.has_directories:
            staying = self._remove_older_than(oldest, numbers)
            crash_point("during-retention")
            self._delete(self._due(min([oldest, *staying]), number, needed))
        else:
            self._remove_at_once(oldest, number, numbers, needed)
        if self._until_sweep == 0:
            self._sweep_orphans(in_use(), needed, self._orphan_age)
        self._until_sweep = (self._until_sweep or SWEEP_EVERY) - 1

    def discard(self) -> None:
        """Delete all checkpoints that are not held, oldest first, then their files."""
        held = self._all_held()
        staying = self._remove_older_than(sys.maxsize, {one.number for one in held})
        self._condemned.clear()
        if not staying:
            self._sweep_orphans((), {path for one in held for path in one.paths}, -math.inf)

    def _all_held(self) -> set[HeldCheckpoint]:
        """The checkpoints that are held at this time. A checkpoint that is released after this
        call stays until the next deletion."""
        held = self._held.copy()
        return held if self._kept is None else {*held, self._kept}

    def _remove_older_than(self, oldest: int, held: Container[int]) -> list[int]:
        """Delete the checkpoints before ``oldest``. Returns those that cannot be deleted: a job
        can still resume from them, so their files must stay."""
        old = self._older_than(oldest, held)
        staying = [number for number in old if not remove_checkpoint(self._job_dir, number)]
        self._forget(set(old).difference(staying), oldest)
        return staying

    def _remove_at_once(
        self, oldest: int, newest: int, held: Container[int], needed: Container[str]
    ) -> None:
        """Delete old checkpoints and files in one request, which may be carried out in part and
        in any order. Therefore the files belong only to checkpoints whose manifests an earlier
        request deleted."""
        old = self._older_than(oldest, held)
        condemned = self._condemned
        files = self._due(self._gone_below, newest, needed)
        going = [path for n in old for path in checkpoint_files(self._job_dir, n)] + files
        crash_point("during-retention")
        try:
            if going:
                self._files.delete_all(going)
        except OSError:
            self._condemned = condemned
            raise
        self._forget(old, oldest)
        self._gone_below = oldest

    def _older_than(self, oldest: int, held: Container[int]) -> list[int]:
        if self._numbers is None:
            self._numbers = set(checkpoint_numbers(self._job_dir))
        numbers = sorted(self._numbers)
        return [n for n in numbers if (n < oldest or n in self._abandoned) and n not in held]

    def _forget(self, gone: Iterable[int], oldest: int) -> None:
        assert self._numbers is not None
        self._numbers.difference_update(gone)
        self._usable = [number for number in self._usable if number >= oldest]
        self._damaged = [number for number in self._damaged if number >= oldest]

    def _due(self, oldest: int, newest: int, needed: Container[str]) -> list[str]:
        """Condemned files to delete now, if ``oldest`` is the first remaining checkpoint. Files
        are deleted at least one checkpoint late, because a running epoch may still read them."""
        staying: list[tuple[int, str]] = []
        going: list[str] = []
        for number, path in self._condemned:
            if number <= oldest and number < newest and path not in needed:
                crash_point("collect-file")
                going.append(f"{self._job_dir}/{path}")
            else:
                staying.append((number, path))
        self._condemned = staying
        return going

    def _sweep_orphans(self, in_use: Container[str], needed: Container[str], age: float) -> None:
        if self._damaged:
            return  # nobody knows what these refer to
        wanted = [in_use, needed, {path for _, path in self._condemned}]
        latest = self._clock() - age

        def is_orphan(location: str, modified: float) -> bool:
            path = location.removeprefix(f"{self._job_dir}/")
            return modified < latest and not any(path in some for some in wanted)

        shared = self._files.list(f"{self._job_dir}/{SHARED}")
        orphans = [f.location for f in shared if is_orphan(f.location, f.modified)]
        for _ in orphans:
            crash_point("collect-orphan")
        self._delete(orphans)
        for upload in self._files.uploads(self._job_dir):
            if is_orphan(upload.token, upload.modified):
                self._files.abort(upload.token)

    @staticmethod
    def _delete(locations: list[str]) -> None:
        if locations:
            delete_quietly(*locations)
