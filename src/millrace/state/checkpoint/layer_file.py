"""Layer files: many layers of many subtasks in one file, so that a checkpoint writes but one.

Layout::

    header   magic, format version
    payloads of the layers, one after the other
    index    one row per layer: stage uid, subtask, epoch, version, floor, path, offset, length, crc
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
from millrace.state.canonical.stored_state import SubtaskFiles
from millrace.state.checkpoint.directory import SHARED
from millrace.state.checkpoint.files import StrPath, check, opened, read_range, write_file
from millrace.state.layer import FileRef, Layer
from millrace.state.layer_payload import native_payload, pieces_in, split

__all__ = [
    "SUFFIX",
    "LayerEntry",
    "LayerFile",
    "LayerFileRef",
    "LayerFileWriter",
    "LayerLoader",
    "SubtaskKey",
    "check_shared",
    "read_index",
    "write_layer_file",
]

SUFFIX = ".layers"
FORMAT_VERSION = 2

_MAGIC = b"MRLAYERS"
_HEADER = struct.Struct(">8sH")
_FOOTER = struct.Struct(">8sQQI")
_HERE = ""
WHOLE_BYTES = 4 << 20
"""Payloads up to this size are read at once."""

SubtaskKey = tuple[str, int]
"""(stage uid, subtask)."""
LayerEntry = tuple[str, int, Layer]
"""(stage uid, subtask, layer)."""
_Row = tuple[str, int, int, str, int, str, int, int, int]
_DECODER = msgspec.msgpack.Decoder(list[_Row])


@dataclass(frozen=True, slots=True)
class LayerFileRef:
    """What a manifest knows of a layer file."""

    path: str
    """Relative to the job's directory."""
    length: int
    """Of the file, in bytes."""
    index_offset: int
    index_crc: int
    layers: int
    """How many layers the index lists."""
    tier: int = 0
    """How often its layers have been packed together with others."""

    @property
    def index_length(self) -> int:
        """Bytes of the index."""
        return self.length - self.index_offset - _FOOTER.size


@dataclass(frozen=True, slots=True)
class LayerFile:
    """A layer file and what its index lists, every layer with a reference to its bytes."""

    ref: LayerFileRef
    entries: tuple[LayerEntry, ...]


class LayerLoader:
    """Fetches the bytes of layers.

    Example:
        >>> LayerLoader("/nowhere")(Layer(1, "a", 1, b"inline"))
        b'inline'

    Args:
        job_dir: what the paths in layers are relative to.
    """

    __slots__ = ("_job_dir",)

    def __init__(self, job_dir: StrPath) -> None:
        self._job_dir = job_dir

    def __call__(self, layer: Layer) -> bytes:
        """The bytes; raises CheckpointCorruptError when their file is damaged."""
        data = layer.data
        if isinstance(data, SubtaskFiles):
            return native_payload(data)
        if isinstance(data, bytes):
            return data
        path = os.path.join(self._job_dir, data.path)
        return read_range(path, data.offset, data.length, data.crc)

    def pieces(self, layer: Layer) -> Iterator[bytes | memoryview]:
        """The pieces of the payload, one after the other; raises CheckpointCorruptError when their
        file is damaged."""
        data = layer.data
        if isinstance(data, SubtaskFiles):
            yield from split(native_payload(data))
        elif isinstance(data, bytes):
            yield from split(data)
        elif data.length <= WHOLE_BYTES:
            yield from split(self(layer))
        else:
            path = os.path.join(self._job_dir, data.path)
            yield from pieces_in(path, data.offset, data.length)


def write_layer_file(
    job_dir: StrPath,
    name: str,
    entries: Iterable[LayerEntry],
    *,
    run_id: str = "",
    tier: int = 0,
    durable: bool = True,
    absorb: Collection[str] = (),
) -> LayerFile:
    """Write layers to the file ``shared/<name>``.

    Args:
        entries: layers with their bytes, which are written, or with a reference, which stays one.
        absorb: paths of files whose bytes are copied into this one instead of referred to.

    Raises:
        CheckpointError: the file system refused; nothing is left behind.
        CheckpointCorruptError: a file to absorb is damaged.
    """
    writer = LayerFileWriter(job_dir, name, tier, absorb)

    def chunks() -> Iterator[bytes]:
        yield writer.head()
        yield from map(writer.add, entries)
        yield writer.tail()

    path = os.path.join(job_dir, writer.path)
    length = write_file(path, chunks(), run_id=run_id, durable=durable)
    return writer.file(length)


class LayerFileWriter:
    """Makes the pieces of a file, to be written one after the other.

    Args:
        absorb: paths of files whose bytes are copied into this one instead of referred to.
    """

    def __init__(
        self, job_dir: StrPath, name: str, tier: int = 0, absorb: Collection[str] = ()
    ) -> None:
        self.path = f"{SHARED}/{name}"
        self._tier = tier
        self._absorb = frozenset(absorb)
        self._load = LayerLoader(job_dir)
        self._placed: list[LayerEntry] = []
        self._offset = _HEADER.size
        self._index_crc = 0

    def head(self) -> bytes:
        """The first piece."""
        return _HEADER.pack(_MAGIC, FORMAT_VERSION)

    def add(self, entry: LayerEntry) -> bytes:
        """The piece of one layer, empty if it stays elsewhere.

        Raises:
            CheckpointCorruptError: its file is damaged.
        """
        stage, subtask, layer = entry
        data = b""
        if not isinstance(layer.data, FileRef) or layer.data.path in self._absorb:
            data = self._load(layer)
            layer = self._place(layer, data)
        self._placed.append((stage, subtask, layer))
        return data

    def tail(self) -> bytes:
        """The last piece."""
        index = msgspec.msgpack.encode([_row(entry, self.path) for entry in self._placed])
        self._index_crc = zlib.crc32(index)
        return index + _FOOTER.pack(_MAGIC, self._offset, len(index), self._index_crc)

    def file(self, length: int) -> LayerFile:
        """The file, once it is written."""
        placed = tuple(self._placed)
        ref = LayerFileRef(
            self.path, length, self._offset, self._index_crc, len(placed), self._tier
        )
        return LayerFile(ref, placed)

    def _place(self, layer: Layer, data: bytes) -> Layer:
        reference = FileRef(self.path, self._offset, len(data), zlib.crc32(data))
        self._offset += len(data)
        return Layer(layer.epoch, layer.version, layer.floor, reference)


def _row(entry: LayerEntry, own_path: str) -> _Row:
    stage, subtask, layer = entry
    ref = layer.data
    assert isinstance(ref, FileRef)
    path = _HERE if ref.path == own_path else ref.path
    return (
        stage, subtask, layer.epoch, layer.version, layer.floor,
        path, ref.offset, ref.length, ref.crc,
    )  # fmt: skip


def read_index(job_dir: StrPath, ref: LayerFileRef) -> list[LayerEntry]:
    """The layers of a file, with references to their bytes.

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
    if len(entries) != ref.layers:
        raise CheckpointCorruptError(
            path, f"its index lists {len(entries)} layers instead of {ref.layers}"
        )
    return entries


def _read_checked(path: str, ref: LayerFileRef) -> bytes:
    """The bytes of the index, after header, length and footer were found right."""
    with opened(path) as file:
        descriptor = file.fileno()
        length = os.fstat(descriptor).st_size
        if length != ref.length or not 0 <= ref.index_offset <= length:
            raise CheckpointCorruptError(path, f"it has {length} bytes instead of {ref.length}")
        header = os.pread(descriptor, _HEADER.size, 0)
        tail = os.pread(descriptor, ref.length - ref.index_offset, ref.index_offset)
    if header != _HEADER.pack(_MAGIC, FORMAT_VERSION):
        raise CheckpointCorruptError(path, "its header is not that of a layer file")
    index, footer = tail[: ref.index_length], tail[ref.index_length :]
    check(path, index, ref.index_offset, ref.index_length, ref.index_crc)
    if footer != _FOOTER.pack(_MAGIC, ref.index_offset, ref.index_length, ref.index_crc):
        raise CheckpointCorruptError(path, "its footer differs from what the checkpoint says")
    return index


def check_shared(path: str) -> None:
    """Raises ValueError unless ``path`` is of a file right below the directory of shared files:
    whoever follows it must not get anywhere else."""
    folder, _, name = path.partition("/")
    if folder != SHARED or not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"it refers to {path!r}")


def _entry(row: _Row, own_path: str) -> LayerEntry:
    stage, subtask, epoch, version, floor, path, offset, length, crc = row
    if path:
        check_shared(path)
    reference = FileRef(path or own_path, offset, length, crc)
    return stage, subtask, Layer(epoch, version, floor, reference)
