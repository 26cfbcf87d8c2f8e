"""Packing: many small layer files become one bigger one, in tiers.

Every checkpoint adds a file. As soon as there are eight of one tier, their live layers are copied
into one file of the next tier, so that the number of files grows with the logarithm of the number
of checkpoints, and a layer is copied once per tier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from millrace.state.checkpoint.files import StrPath
from millrace.state.checkpoint.layer_file import SUFFIX, LayerEntry, LayerFile, write_layer_file
from millrace.state.checkpoint.layer_set import LayerSet
from millrace.state.layer import FileRef

__all__ = ["FILES_PER_TIER", "Packed", "Packing", "choose"]

FILES_PER_TIER = 8
MOSTLY_DEAD = 4
"""A file is copied again when less than one in so many of its bytes is alive..."""
WORTH_COPYING = 4 << 20
"""...and it has at least so many bytes."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Which files are to become one."""

    sources: tuple[LayerFile, ...]
    layers: LayerSet
    """Tells which of their layers are alive."""
    tier: int

    def run(
        self, job_dir: StrPath, name: str, run_id: str, durable: bool, proceed: Callable[[], None]
    ) -> Packed:
        """Write the file; ``proceed`` is called before each layer and may raise to stop it.

        Raises:
            CheckpointError: the file system refused, or (CheckpointCorruptError) a source is
                damaged.
        """
        paths = tuple(file.ref.path for file in self.sources)
        file = write_layer_file(
            job_dir,
            f"{name}-t{self.tier}{SUFFIX}",
            self._entries(proceed),
            run_id=run_id,
            tier=self.tier,
            durable=durable,
            absorb=paths,
        )
        return Packed(paths, file)

    def _entries(self, proceed: Callable[[], None]) -> Iterator[LayerEntry]:
        for file in self.sources:
            for entry in filter(self.layers.is_live, file.entries):
                proceed()
                yield entry


@dataclass(frozen=True, slots=True)
class Packed:
    """A file, and the paths of those it stands for."""

    sources: tuple[str, ...]
    file: LayerFile

    def applied_to(self, layers: LayerSet) -> LayerSet:
        """``layers`` with this file instead of its sources; some of them may be dead by now."""
        return layers.with_packed(self.sources, self.file)


def choose(layers: LayerSet) -> Packing | None:
    """What to pack next, if anything: a full tier, else a big file that is mostly dead."""
    tiers: dict[int, list[LayerFile]] = {}
    for file in layers.files.values():
        tiers.setdefault(file.ref.tier, []).append(file)
    for tier, files in sorted(tiers.items()):
        if len(files) >= FILES_PER_TIER:
            return Packing(tuple(files), layers, tier + 1)
    for file in layers.files.values():
        if file.ref.length >= WORTH_COPYING and _is_mostly_dead(file, layers):
            return Packing((file,), layers, file.ref.tier)
    return None


def _is_mostly_dead(file: LayerFile, layers: LayerSet) -> bool:
    alive = 0
    for entry in filter(layers.is_live, file.entries):
        data = entry[2].data
        if isinstance(data, FileRef) and data.path == file.ref.path:
            alive += data.length
    return alive * MOSTLY_DEAD < file.ref.length
