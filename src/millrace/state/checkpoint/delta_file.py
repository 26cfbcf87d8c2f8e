"""Delta files: the deltas of all subtasks in one file, so that a checkpoint adds only one file.

Layout::

    header   magic, format version
    payloads of the deltas, one after the other
    index    one row per delta: stage uid, subtask, epoch, version, low epoch, path, offset, length,
             crc
    footer   magic, offset of the index, its length, its CRC-32

An empty path in a row means this file; any other one is a segment, relative to the job's directory.
The index is msgpack; all other numbers are big-endian. The payloads are what
`SubtaskState.snapshot` made.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from millrace.common.errors import CheckpointCorruptError
from millrace.filesystem.location import located
from millrace.state.canonical.stored_state import SubtaskFiles
from millrace.state.checkpoint.directory import SHARED
from millrace.state.checkpoint.files import (
    StrPath,
    check,
    opened,
    read_range,
    size_of_opened,
    write_file,
)
from millrace.state.delta_payload import native_payload, pieces_in, split
from millrace.state.state_delta import FileRef, StateDelta

__all__ = [
    "SUFFIX",
    "DeltaEntry",
    "DeltaFile",
    "DeltaFileRef",
    "DeltaFileWriter",
    "DeltaLoader",
    "SubtaskKey",
    "check_shared",
    "read_index",
    "write_delta_file",
]

SUFFIX = ".deltas"
FORMAT_VERSION = 3

_MAGIC = b"MRDELTAS"
_HEADER = struct.Struct(">8sH")
_FOOTER = struct.Struct(">8sQQI")
_HERE = ""
MAX_INDEX = 64 << 20
"""Maximum bytes of an index, which is read as a whole."""
WHOLE_BYTES = 4 << 20
"""Payloads up to this size are read at once."""

SubtaskKey = tuple[str, int]
"""(stage uid, subtask)."""
DeltaEntry = tuple[str, int, StateDelta]
"""(stage uid, subtask, delta)."""
_Row = tuple[str, int, int, str, int, str, int, int, int]
_DECODER = msgspec.msgpack.Decoder(list[_Row])


@dataclass(frozen=True, slots=True)
class DeltaFileRef:
    """A manifest's entry for a delta file."""

    path: str
    """Path relative to the job's directory."""
    length: int
    """Bytes of the file."""
    index_offset: int
    index_crc: int
    deltas: int
    """Number of deltas in the index."""
    tier: int = 0
    """Number of times that the deltas in the file have been packed together with others."""

    @property
    def index_length(self) -> int:
        """Size of the index in bytes."""
        return self.length - self.index_offset - _FOOTER.size


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """Delta file and the deltas in its index, each with a reference to its bytes."""

    ref: DeltaFileRef
    entries: tuple[DeltaEntry, ...]


class DeltaLoader:
    """Fetches the bytes of deltas.

    Example:
        >>> DeltaLoader("/nowhere")(StateDelta(1, "a", 1, b"inline"))
        b'inline'

    Args:
        job_dir: what the paths in deltas are relative to.
    """

    __slots__ = ("_job_dir",)

    def __init__(self, job_dir: StrPath) -> None:
        self._job_dir = job_dir

    def __call__(self, delta: StateDelta) -> bytes:
        """Bytes of the delta. Raises CheckpointCorruptError when their file is damaged."""
        data = delta.data
        if isinstance(data, SubtaskFiles):
            return native_payload(data)
        if isinstance(data, bytes):
            return data
        path = located(self._job_dir, data.path)
        return read_range(path, data.offset, data.length, data.crc)

    def pieces(self, delta: StateDelta) -> Iterator[bytes | memoryview]:
        """The pieces of the payload, in order. Raises CheckpointCorruptError if the file is
        damaged.
        """
        data = delta.data
        if isinstance(data, SubtaskFiles):
            yield from split(native_payload(data))
        elif isinstance(data, bytes):
            yield from split(data)
        elif data.length <= WHOLE_BYTES:
            yield from split(self(delta))
        else:
            path = located(self._job_dir, data.path)
            yield from pieces_in(path, data.offset, data.length)


def write_delta_file(
    job_dir: StrPath,
    name: str,
    entries: Iterable[DeltaEntry],
    *,
    tier: int = 0,
    durable: bool = True,
    absorb: Collection[str] = (),
) -> DeltaFile:
    """Write deltas to a new delta file ``shared/<name>``.

    Args:
        entries: deltas with their bytes, which are written, or with a reference to a file, which is
            kept as a reference.
        absorb: paths of files whose bytes are copied into this one instead of referred to.

    Raises:
        CheckpointError: the file system refused; nothing is left behind.
        CheckpointCorruptError: a file to absorb is damaged.
    """
    writer = DeltaFileWriter(job_dir, name, tier, absorb)

    def chunks() -> Iterator[bytes]:
        yield writer.head()
        yield from map(writer.add, entries)
        yield writer.tail()

    path = os.path.join(job_dir, writer.path)
    length = write_file(path, chunks(), durable=durable)
    return writer.file(length)


class DeltaFileWriter:
    """Makes the pieces of a delta file, which the caller writes one after the other.

    Args:
        absorb: paths of files whose bytes are copied into this one instead of referred to.
    """

    def __init__(
        self, job_dir: StrPath, name: str, tier: int = 0, absorb: Collection[str] = ()
    ) -> None:
        self.path = f"{SHARED}/{name}"
        self._tier = tier
        self._absorb = frozenset(absorb)
        self._load = DeltaLoader(job_dir)
        self._placed: list[DeltaEntry] = []
        self._offset = _HEADER.size
        self._index_crc = 0

    def head(self) -> bytes:
        """First piece of the file."""
        return _HEADER.pack(_MAGIC, FORMAT_VERSION)

    def add(self, entry: DeltaEntry) -> bytes:
        """Piece of one delta; empty if the delta stays in another file.

        Raises:
            CheckpointCorruptError: its file is damaged.
        """
        stage, subtask, delta = entry
        data = b""
        if not isinstance(delta.data, FileRef) or delta.data.path in self._absorb:
            data = self._load(delta)
            delta = self._place(delta, data)
        self._placed.append((stage, subtask, delta))
        return data

    def tail(self) -> bytes:
        """Last piece of the file."""
        index = msgspec.msgpack.encode([_row(entry, self.path) for entry in self._placed])
        self._index_crc = zlib.crc32(index)
        return index + _FOOTER.pack(_MAGIC, self._offset, len(index), self._index_crc)

    def file(self, length: int) -> DeltaFile:
        """The delta file, after it has been written with ``length`` bytes."""
        placed = tuple(self._placed)
        ref = DeltaFileRef(
            self.path, length, self._offset, self._index_crc, len(placed), self._tier
        )
        return DeltaFile(ref, placed)

    def _place(self, delta: StateDelta, data: bytes) -> StateDelta:
        reference = FileRef(self.path, self._offset, len(data), zlib.crc32(data))
        self._offset += len(data)
        return StateDelta(delta.epoch, delta.version, delta.low_epoch, reference)


def _row(entry: DeltaEntry, own_path: str) -> _Row:
    stage, subtask, delta = entry
    ref = delta.data
    assert isinstance(ref, FileRef)
    path = _HERE if ref.path == own_path else ref.path
    return (
        stage, subtask, delta.epoch, delta.version, delta.low_epoch,
        path, ref.offset, ref.length, ref.crc,
    )  # fmt: skip


def read_index(job_dir: StrPath, ref: DeltaFileRef) -> list[DeltaEntry]:
    """Deltas in a file, with references to their bytes.

    Raises:
        CheckpointCorruptError: the file is missing, truncated or damaged outside of the payloads
            (those are checked when they are loaded).
        CheckpointError: it cannot be read.
    """
    path = os.path.join(job_dir, ref.path)
    index = _read_checked(path, ref)
    try:
        entries = [_entry(row, ref.path) for row in _DECODER.decode(index)]
    except ValueError as error:
        raise CheckpointCorruptError(path, f"its index is of another shape ({error})") from error
    if len(entries) != ref.deltas:
        raise CheckpointCorruptError(
            path, f"its index lists {len(entries)} deltas instead of {ref.deltas}"
        )
    return entries


def _read_checked(path: str, ref: DeltaFileRef) -> bytes:
    """Bytes of the index, after a check of header, length and footer."""
    with opened(path) as file:
        length = size_of_opened(file)
        if length != ref.length or not 0 <= ref.index_offset <= length:
            raise CheckpointCorruptError(path, f"it has {length} bytes instead of {ref.length}")
        if ref.index_length > MAX_INDEX:
            raise CheckpointCorruptError(path, f"its index has {ref.index_length} bytes")
        header = file.read(_HEADER.size)
        file.seek(ref.index_offset)
        tail = file.read(ref.length - ref.index_offset)
    if header != _HEADER.pack(_MAGIC, FORMAT_VERSION):
        raise CheckpointCorruptError(path, "its header is not that of a delta file")
    index, footer = tail[: ref.index_length], tail[ref.index_length :]
    check(path, index, ref.index_offset, ref.index_length, ref.index_crc)
    if footer != _FOOTER.pack(_MAGIC, ref.index_offset, ref.index_length, ref.index_crc):
        raise CheckpointCorruptError(
            path, "its footer differs from the description in the checkpoint"
        )
    return index


def check_shared(path: str) -> None:
    """Raises ValueError unless ``path`` is a file directly in the directory of shared files: a
    reader that follows the path must not leave this directory."""
    folder, _, name = path.partition("/")
    if folder != SHARED or not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"it refers to {path!r}")


def _entry(row: _Row, own_path: str) -> DeltaEntry:
    stage, subtask, epoch, version, low_epoch, path, offset, length, crc = row
    if path:
        check_shared(path)
    reference = FileRef(path or own_path, offset, length, crc)
    return stage, subtask, StateDelta(epoch, version, low_epoch, reference)
