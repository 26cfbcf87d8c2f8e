"""Part files of a file sink: names, chunks, and the state of open parts.

A *part* is a file that readers see in the end. While it grows it is a list of *chunks*, one for
each epoch that wrote to it, because no attempt may append to a file of another one: a zombie
attempt could still be writing. Chunks are hidden, and their names are unique to their attempt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from millrace.connectors.errors import PartFileError
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.filesystem.file_system import PendingUpload

__all__ = [
    "Chunk",
    "FileWriterState",
    "ObsoleteChunks",
    "OpenPart",
    "PartCommittable",
    "PartNames",
    "is_made_by",
    "is_part_of",
    "is_work_file",
    "require_part_files",
    "require_work_files",
]

_CHUNK = re.compile(r"\..+-\d+-\d+\.(?:inprogress|merged)\.(?P<attempt>.+)", re.DOTALL)
_UPLOAD = re.compile(r"\.(?P<part>[^._].*-\d+-\d+.*)\.[0-9a-f]{32}\.tmp", re.DOTALL)
_WORK_FILE = re.compile(f"{_CHUNK.pattern}|{_UPLOAD.pattern}", re.DOTALL)
_PART_FILE = re.compile(r"[^._].*-\d+-\d+.*", re.DOTALL)


def is_work_file(name: str) -> bool:
    """Whether a file with this name is a chunk of a file sink.

    >>> is_work_file(".part-0-7.inprogress.run-3"), is_work_file(".bashrc")
    (True, False)
    """
    return _CHUNK.fullmatch(name) is not None


def is_made_by(name: str, run_ids: Collection[str]) -> bool:
    """Whether one of the given runs made the chunk with this name.

    >>> is_made_by(".part-0-7.inprogress.3f2-12-0-5-1-0", ["3f2"])
    True
    """
    match = _CHUNK.fullmatch(name)
    if match is None:
        return False
    run = match["attempt"].partition("-")[0]
    return run.partition(".")[0] in run_ids  # with another parallelism a run has another number


def is_part_of(name: str, run_ids: Collection[str] | None) -> bool:
    """Whether a file sink made the part with this name, in one of the given runs if runs are given.

    >>> is_part_of("part-3f2-0-7.csv", ["3f2"]), is_part_of("part-3f2-0-7.csv", ["3f"])
    (True, False)
    """
    if _PART_FILE.fullmatch(name) is None:
        return False
    return run_ids is None or any(f"-{run}-" in name or f"-{run}." in name for run in run_ids)


def require_work_files(paths: Iterable[str], base_path: str) -> None:
    """Refuse paths that are not chunks or pending parts of a sink to ``base_path``. Restored state
    may have been tampered with, and the files that it names are moved and deleted.

    Raises:
        PartFileError: a path is none of these.
    """
    _require(paths, base_path, _WORK_FILE)


def require_part_files(paths: Iterable[str], base_path: str) -> None:
    """Refuse paths that are not finished parts of a sink to ``base_path``, for the same reason as
    `require_work_files`.

    Raises:
        PartFileError: one is not such a name, or not below ``base_path``.
    """
    _require(paths, base_path, _PART_FILE)


def _require(paths: Iterable[str], base_path: str, names: re.Pattern[str]) -> None:
    directories: dict[str, str] = {}
    for path in paths:
        if not isinstance(path, str) or "\0" in path:
            raise PartFileError(
                repr(path), "the sink's restored state names it, but it is not a path"
            )
        parent, name = os.path.split(path)
        if names.fullmatch(name) is None:
            raise _foreign(path, base_path)
        directories[parent] = path
    base = os.path.realpath(base_path)
    for parent, path in directories.items():
        if os.path.commonpath([base, os.path.realpath(parent)]) != base:
            raise _foreign(path, base_path)


def _foreign(path: str, base_path: str) -> PartFileError:
    return PartFileError(
        path,
        f"the sink's restored state names it, but a sink to {base_path} makes no such file. "
        "Was the path of the sink changed? Then keep the former path until its parts are "
        "finished; else the snapshot was tampered with",
    )


@dataclass(frozen=True, slots=True)
class PartNames:
    """Names of one subtask's files in one attempt of an epoch."""

    config: OutputFileConfig
    run_id: str
    subtask: int
    attempt: str

    def final(self, part: OpenPart) -> str:
        """Final name of a part, which readers see."""
        prefix, suffix = self.config.part_prefix, self.config.part_suffix
        return f"{prefix}-{self.run_id}-{part.subtask}-{part.counter}{suffix}"

    def work(self, part: OpenPart, kind: str) -> str:
        """Hidden name of a part; ``kind`` is inprogress, pending or merged."""
        attempt = self.attempt.replace("/", "-")
        return f".{self.config.part_prefix}-{part.subtask}-{part.counter}.{kind}.{attempt}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """The piece of a part that one epoch wrote, or several such pieces merged; ``level`` is the
    number of merges.
    """

    path: str
    length: int
    crc: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class OpenPart:
    """An unfinished part file. Times are in ms since the epoch.

    It keeps the index of the subtask that began it, so that its name stays unique when another
    subtask goes on with it.
    """

    bucket: str
    subtask: int
    counter: int
    chunks: tuple[Chunk, ...]
    creation_time: int
    last_update_time: int
    checkpoints: int = 0
    """Checkpoints that were completed since it was begun."""


@dataclass(frozen=True, slots=True)
class FileWriterState:
    """The state of a file writer at the end of an epoch."""

    next_counter: int
    parts: tuple[OpenPart, ...] = ()


@dataclass(frozen=True, slots=True)
class PartCommittable:
    """A finished part that is to be made visible. Afterwards, the ``obsolete`` chunks are deleted.
    ``pending`` is the token of its upload.
    """

    pending: str
    final: str
    length: int
    obsolete: tuple[str, ...] = ()

    @property
    def upload(self) -> PendingUpload:
        """Pending upload of the part, to be committed."""
        return PendingUpload(self.final, self.pending, self.length)


@dataclass(frozen=True, slots=True)
class ObsoleteChunks:
    """Chunks to delete, because they were merged into another one."""

    paths: tuple[str, ...]
