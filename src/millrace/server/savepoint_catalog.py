"""The savepoints and newest checkpoints of a server's jobs, as a tree of versions of state."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from millrace.common.errors import CheckpointError, MillraceError
from millrace.state.checkpoint.directory import METADATA, complete_checkpoints
from millrace.state.checkpoint.savepoints import DamagedSavepoint, find_savepoints, size_of
from millrace.state.checkpoint.snapshot import Snapshot, read_snapshot_manifest

__all__ = ["SavepointCatalog", "SnapshotEntry"]

REMEMBERED = 5_000


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A savepoint or checkpoint, and the savepoint that it came from."""

    id: str
    path: str
    job_id: str
    """Id of the job, from the name of its directory."""
    job_name: str
    parent: str | None
    """Id of the last savepoint in its history."""
    time: int
    """ms since the epoch of Unix."""
    size: int
    """Size in bytes."""
    epoch: int
    kind: str
    format: str
    operators: tuple[tuple[str, str], ...]
    """Uid and name of each operator."""
    parallelism: int


class SavepointCatalog:
    """Finds savepoints and reads each only once; safe for several threads.

    Args:
        directory: default directory of savepoints.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[tuple[str, int], SnapshotEntry] = {}
        """Entries by path and modification time of the snapshot's file."""
        self._lock = Lock()

    def entries(self, jobs: Iterable[Path], elsewhere: Iterable[str]) -> list[SnapshotEntry]:
        """All known snapshots, the oldest first.

        Args:
            jobs: directories of jobs, of which the newest checkpoints are taken.
            elsewhere: savepoints that may be in other directories.
        """
        with self._lock:
            by_path: dict[str, SnapshotEntry] = {}
            for path in self._paths(jobs, elsewhere):
                entry = self._entry(path)
                if entry is not None:
                    by_path[entry.path] = entry
            self._forget(by_path)
        return sorted(by_path.values(), key=lambda entry: (entry.time, entry.path))

    def _paths(self, jobs: Iterable[Path], elsewhere: Iterable[str]) -> Iterator[str]:
        if self._directory.is_dir():
            for savepoint in find_savepoints(self._directory):
                if not isinstance(savepoint, DamagedSavepoint):
                    yield savepoint.path
        yield from elsewhere
        for directory in jobs:
            try:
                numbers = complete_checkpoints(directory)
            except (MillraceError, OSError):
                continue
            if numbers:
                yield str(directory / f"chk-{numbers[-1]}")

    def _entry(self, path: str) -> SnapshotEntry | None:
        try:
            version = os.stat(os.path.join(path, METADATA)).st_mtime_ns
        except OSError:  # in a store of objects, or gone
            version = 0
        key = (path, version)
        if version and key in self._known:
            return self._known[key]
        try:
            self._known[key] = _read(path)
        except (CheckpointError, MillraceError, OSError):
            return None
        return self._known[key]

    def _forget(self, by_path: dict[str, SnapshotEntry]) -> None:
        if len(self._known) > max(REMEMBERED, 2 * len(by_path)):
            self._known = {key: entry for key, entry in self._known.items() if key[0] in by_path}


def _read(path: str) -> SnapshotEntry:
    snapshot = read_snapshot_manifest(path)
    manifest = snapshot.manifest
    return SnapshotEntry(
        id=manifest.snapshot_id or path,
        path=str(snapshot.path),
        job_id=manifest.job_id,
        job_name=manifest.job_name,
        parent=manifest.ancestor or None,
        time=manifest.timestamp,
        size=_size(snapshot),
        epoch=manifest.epoch,
        kind=manifest.kind,
        format=manifest.format_type,
        operators=tuple(manifest.operators.items()),
        parallelism=max(manifest.stages.values(), default=0),
    )


def _size(snapshot: Snapshot) -> int:
    if snapshot.is_savepoint:
        return size_of(snapshot)
    # the files of a checkpoint are the job's, and others name them, too
    return sum(file.length for file in snapshot.manifest.delta_files)
