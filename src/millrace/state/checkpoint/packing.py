"""Packing: tiered compaction of delta files, with a limited number of bytes per checkpoint.

Every checkpoint adds a file. As soon as there are enough of one tier, their live deltas are copied
into one file of the next tier, so that the number of files grows with the logarithm of the number
of checkpoints, and a delta is copied once per tier. The bytes copied between two checkpoints are in
proportion to the bytes that a checkpoint adds, so that no epoch has to copy a big tier at once.
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

__all__ = ["FILES_PER_TIER", "PackedFile", "Packing", "PackingGroup", "choose"]

FILES_PER_TIER = 80
PACE = 1.125
"""Bytes that may be copied per tier for each byte that checkpoints add. With more than one, a group
is copied before its tier is full again."""
MIN_BYTES_PER_STEP = 4 << 10
"""Minimum bytes that are copied per checkpoint."""
MOSTLY_DEAD = 4
"""A file is rewritten if less than a quarter of its bytes are live, and it has
`MIN_REWRITTEN_BYTES`."""
MIN_REWRITTEN_BYTES = 4 << 20
"""Minimum bytes of a file that is rewritten because most of its deltas are dead."""
BIG_SEGMENT = 16 << 20
"""Segments of at least this many bytes are not packed. Smaller ones are not packed either while
they are few."""

_NOTHING = memoryview(b"")


@dataclass(frozen=True, slots=True)
class PackingGroup:
    """Delta files that are to be packed into one."""

    sources: tuple[DeltaFile, ...]
    tier: int
    """Tier of the sources."""
    target_tier: int

    def live(self, deltas: DeltaSet) -> list[DeltaEntry]:
        """Live deltas of the source files."""
        return [entry for file in self.sources for entry in filter(deltas.is_live, file.entries)]

    def allowance(self, deltas: DeltaSet, added: int, remaining: int) -> float:
        """Bytes to copy in this step.

        The result is proportional to ``added``, the bytes that checkpoints have added. It is
        greater if otherwise the tier would have twice its files before ``remaining`` bytes are
        copied.
        """
        files = sum(file.ref.tier == self.tier for file in deltas.files.values())
        until_full = (2 * FILES_PER_TIER - files) * float(FILES_PER_TIER) ** self.tier
        return max(MIN_BYTES_PER_STEP, PACE * added, remaining / max(1.0, until_full))


@dataclass(frozen=True, slots=True)
class PackedFile:
    """Packed file, and the paths of the files that it replaces."""

    sources: tuple[str, ...]
    segments: frozenset[str]
    """Paths of the segments whose content the packed file has, too."""
    file: DeltaFile

    def applied_to(self, deltas: DeltaSet) -> DeltaSet:
        """``deltas`` with the packed file instead of its sources. Some deltas of the packed file
        may no longer be live."""
        return deltas.with_packed(self.sources, self.file)


class Packing:
    """Copies the live deltas of a group into one file, step by step.

    The files that it reads never change, and the file that it writes is used only once a checkpoint
    refers to it.

    Args:
        deltas: the deltas of the checkpoint, which determine the live ones.
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
        self._rest_of_delta = _NOTHING
        """Bytes of the current delta that are not written yet: a delta may take several steps."""
        self._draft: PendingFile | None = None
        self._allowed_bytes = 0.0
        self.packed: PackedFile | None = None
        """The packed file, once everything is copied; None before."""

    def paths(self) -> list[str]:
        """Paths of the file: the final one, and the temporary one during the writing."""
        return [self.path] if self._draft is None else [self.path, self._draft.token]

    def step(self, deltas: DeltaSet, allowance: float, proceed: Callable[[], None]) -> None:
        """Copy the next bytes of live deltas; deltas that have died since the start are left out.

        Args:
            allowance: approximate number of bytes to copy.
            proceed: called before each write; may raise to stop it.

        Raises:
            CheckpointError: the file system refused, or (CheckpointCorruptError) a source is
                damaged.
        """
        self._allowed_bytes += allowance
        with writing(self.path):
            self._step(deltas, proceed)

    def _step(self, deltas: DeltaSet, proceed: Callable[[], None]) -> None:
        draft = self._open_draft()
        while self._allowed_bytes > 0 and (self._rest_of_delta or self._todo):
            proceed()
            if not self._rest_of_delta:
                self._rest_of_delta = self._next_delta(deltas)
            some = self._rest_of_delta[: math.ceil(self._allowed_bytes)]
            draft.write(some)
            self._rest_of_delta = self._rest_of_delta[len(some) :]
            self.remaining -= len(some)
            self._allowed_bytes -= len(some)
        crash_point("during-packing")
        if self._rest_of_delta or self._todo:
            draft.rest()
        else:
            draft.write(self._writer.tail())
            draft.sync()
            crash_point("draft-complete")
            file = self._writer.file(draft.complete())
            self.packed = PackedFile(self._sources, self._segments, file)

    def discard(self) -> None:
        """Delete the file, complete or not."""
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
        """Bytes to copy for a delta; 0 if its data stays in a segment."""
        data = entry[2].data
        absorbed = isinstance(data, FileRef) and data.path in self._absorb
        return entry[2].size() if absorbed else 0

    def _open_draft(self) -> PendingFile:
        if self._draft is None:
            self._draft = file_system_of(self.path).begin(
                self.path, self._durable, make_parents=False
            )
            self._draft.write(self._writer.head())
        return self._draft


def _segments_to_absorb(entries: Collection[DeltaEntry]) -> frozenset[str]:
    references = [delta.data for _, _, delta in entries if isinstance(delta.data, FileRef)]
    small = frozenset(
        ref.path for ref in references if not ref.path.endswith(SUFFIX) and ref.length < BIG_SEGMENT
    )
    return small if len(small) >= FILES_PER_TIER else frozenset()


def choose(deltas: DeltaSet, busy: Collection[int] = ()) -> list[PackingGroup]:
    """Groups to pack next: at most one per tier, and none of the tiers in ``busy``. A full tier is
    packed as a whole. In other tiers, big files with few live bytes are packed.
    """
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
    if file.ref.length < MIN_REWRITTEN_BYTES:
        return False
    alive = 0
    for entry in filter(deltas.is_live, file.entries):
        data = entry[2].data
        if isinstance(data, FileRef) and data.path == file.ref.path:
            alive += data.length
    return alive * MOSTLY_DEAD < file.ref.length
