"""Packing: many small delta files become one bigger one, in tiers, a little per checkpoint.

Every checkpoint adds a file. As soon as there are enough of one tier, their live deltas are copied
into one file of the next tier, so that the number of files grows with the logarithm of the number
of checkpoints, and a delta is copied once per tier. What is copied between two checkpoints is in
proportion to what a checkpoint adds, so that no epoch has to bear a big tier at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass

from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.file_system import PendingFile
from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.delta_file import (
    SUFFIX,
    DeltaEntry,
    DeltaFile,
    DeltaFileWriter,
)
from millrace.state.checkpoint.delta_set import DeltaSet
from millrace.state.checkpoint.files import StrPath, delete_quietly, writing
from millrace.state.state_delta import FileRef

__all__ = ["FILES_PER_TIER", "Packed", "Packing", "PackingGroup", "choose"]

FILES_PER_TIER = 80
PACE = 1.125
"""Bytes that may be copied per tier for each byte that checkpoints add. With more than one, a group
is copied before its tier is full again."""
LEAST_PACE = 4 << 10
"""Bytes per checkpoint that are not worth spreading out."""
MOSTLY_DEAD = 4
"""A file is copied again when less than one in so many of its bytes is alive..."""
WORTH_COPYING = 4 << 20
"""...and it has at least so many bytes."""
BIG_SEGMENT = 16 << 20
"""Segments from this size on stay files of their own; smaller ones, too, while they are few."""

_NOTHING = memoryview(b"")


@dataclass(frozen=True, slots=True)
class PackingGroup:
    """Which files are to become one."""

    sources: tuple[DeltaFile, ...]
    tier: int
    """Of the sources."""
    target_tier: int

    def live(self, deltas: DeltaSet) -> list[DeltaEntry]:
        """Their deltas that are alive."""
        return [entry for file in self.sources for entry in filter(deltas.is_live, file.entries)]

    def allowance(self, deltas: DeltaSet, added: int, remaining: int) -> float:
        """Bytes to copy now that checkpoints have added some more.

        In proportion to these, or more if the tier would grow too full until all is copied.
        """
        files = sum(file.ref.tier == self.tier for file in deltas.files.values())
        until_full = (2 * FILES_PER_TIER - files) * float(FILES_PER_TIER) ** self.tier
        return max(LEAST_PACE, PACE * added, remaining / max(1.0, until_full))


@dataclass(frozen=True, slots=True)
class Packed:
    """A file, and the paths of those it stands for."""

    sources: tuple[str, ...]
    segments: frozenset[str]
    """Segments that it holds, too."""
    file: DeltaFile

    def applied_to(self, deltas: DeltaSet) -> DeltaSet:
        """``deltas`` with this file instead of its sources; some of them may be dead by now."""
        return deltas.with_packed(self.sources, self.file)


class Packing:
    """A group on its way into one file.

    What it reads never changes, and what it writes counts only once a checkpoint refers to it.

    Args:
        deltas: knows which deltas are live.
    """

    def __init__(
        self,
        group: PackingGroup,
        deltas: DeltaSet,
        job_dir: StrPath,
        name: str,
        durable: bool = True,
    ) -> None:
        self.group = group
        self._todo = list(reversed(group.live(deltas)))
        self._sources = tuple(file.ref.path for file in group.sources)
        self._segments = _segments_to_absorb(self._todo)
        self._absorb = {*self._sources, *self._segments}
        self.remaining = sum(map(self._cost, self._todo))
        name = f"{name}-t{group.target_tier}{SUFFIX}"
        self._writer = DeltaFileWriter(job_dir, name, group.target_tier, self._absorb)
        self.path = os.path.join(job_dir, self._writer.path)
        self._durable = durable
        self._begun_delta = _NOTHING
        """What is left to be written of a delta, of which even a part may be much."""
        self._draft: PendingFile | None = None
        self._credit = 0.0
        self.packed: Packed | None = None
        """The result, once all is copied."""

    def paths(self) -> list[str]:
        """What its file is called, before and after it is complete."""
        return [self.path] if self._draft is None else [self.path, self._draft.token]

    def step(self, deltas: DeltaSet, allowance: float, proceed: Callable[[], None]) -> None:
        """Copy some more; deltas that have died meanwhile are left out.

        Args:
            allowance: about how many bytes to copy.
            proceed: called before each write; may raise to stop it.

        Raises:
            CheckpointError: the file system refused, or (CheckpointCorruptError) a source is
                damaged.
        """
        self._credit += allowance
        with writing(self.path):
            self._step(deltas, proceed)

    def _step(self, deltas: DeltaSet, proceed: Callable[[], None]) -> None:
        draft = self._begun()
        while self._credit > 0 and (self._begun_delta or self._todo):
            proceed()
            if not self._begun_delta:
                self._begun_delta = self._next_delta(deltas)
            some = self._begun_delta[: math.ceil(self._credit)]
            draft.write(some)
            self._begun_delta = self._begun_delta[len(some) :]
            self.remaining -= len(some)
            self._credit -= len(some)
        crash_point("during-packing")
        if self._begun_delta or self._todo:
            draft.rest()
        else:
            draft.write(self._writer.tail())
            draft.sync()
            crash_point("draft-complete")
            file = self._writer.file(draft.complete())
            self.packed = Packed(self._sources, self._segments, file)

    def discard(self) -> None:
        """Delete what was written."""
        if self._draft is not None:
            self._draft.discard()
        if self.packed is not None:
            delete_quietly(self.path)

    def _next_delta(self, deltas: DeltaSet) -> memoryview:
        entry = self._todo.pop()
        if deltas.is_live(entry):
            return memoryview(self._writer.add(entry))
        self.remaining -= self._cost(entry)
        return _NOTHING

    def _cost(self, entry: DeltaEntry) -> int:
        """Bytes to copy for a delta."""
        data = entry[2].data
        absorbed = isinstance(data, FileRef) and data.path in self._absorb
        return entry[2].size() if absorbed else 0

    def _begun(self) -> PendingFile:
        if self._draft is None:
            self._draft = file_system_of(self.path).begin(
                self.path, self._durable, make_parents=False
            )
            self._draft.write(self._writer.head())
        return self._draft


def _segments_to_absorb(entries: Collection[DeltaEntry]) -> frozenset[str]:
    references = [delta.data for _, _, delta in entries if isinstance(delta.data, FileRef)]
    found = frozenset(
        ref.path for ref in references if not ref.path.endswith(SUFFIX) and ref.length < BIG_SEGMENT
    )
    return found if len(found) >= FILES_PER_TIER else frozenset()


def choose(deltas: DeltaSet, busy: Collection[int] = ()) -> list[PackingGroup]:
    """What to pack next, at most one group per tier, none of those that are ``busy``: a full
    tier, else its big files that are mostly dead."""
    tiers: dict[int, list[DeltaFile]] = {}
    for file in deltas.files.values():
        tiers.setdefault(file.ref.tier, []).append(file)
    groups = [
        _group(tier, files, deltas) for tier, files in sorted(tiers.items()) if tier not in busy
    ]
    return [group for group in groups if group is not None]


def _group(tier: int, files: list[DeltaFile], deltas: DeltaSet) -> PackingGroup | None:
    if len(files) >= FILES_PER_TIER:
        return PackingGroup(tuple(files), tier, tier + 1)
    dead = [file for file in files if _is_mostly_dead(file, deltas)]
    return PackingGroup(tuple(dead), tier, tier) if dead else None


def _is_mostly_dead(file: DeltaFile, deltas: DeltaSet) -> bool:
    if file.ref.length < WORTH_COPYING:
        return False
    alive = 0
    for entry in filter(deltas.is_live, file.entries):
        data = entry[2].data
        if isinstance(data, FileRef) and data.path == file.ref.path:
            alive += data.length
    return alive * MOSTLY_DEAD < file.ref.length
