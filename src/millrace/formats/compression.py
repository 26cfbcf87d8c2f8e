"""Opening files that are compressed, told by their names as Flink does."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from typing import Any

__all__ = ["is_compressed", "open_binary"]

_BUFFER_BYTES = 1 << 18
_SKIP_BYTES = 1 << 20
_SUFFIXES = (".gz", ".gzip", ".bz2", ".xz", ".lzma", ".zst")


def is_compressed(path: str) -> bool:
    """Whether the name ends like that of a compressed file (.gz, .bz2, .xz, .zst).

    >>> is_compressed("/data/flights.csv.gz")
    True
    """
    return path.lower().endswith(_SUFFIXES)


def open_binary(path: str, offset: int = 0) -> io.BufferedReader:
    """Open a file for reading, decompressed, at a byte offset of its decompressed content.

    Raises:
        OSError: as `open`.
        SerializationError: a .zst file on a Python that cannot read it.
    """
    stream = _open_decompressed(path)
    if offset and stream.seekable():
        stream.seek(offset)
    elif offset:
        _skip(stream, offset)
    return stream


def _open_decompressed(path: str) -> io.BufferedReader:
    name = path.lower()
    if name.endswith((".gz", ".gzip")):
        return _buffered(gzip.open(path))
    if name.endswith(".bz2"):
        return _buffered(bz2.open(path))
    if name.endswith((".xz", ".lzma")):
        return _buffered(lzma.open(path))
    if name.endswith(".zst"):
        return _buffered(_open_zstd(path))
    return _buffered(io.FileIO(path))


def _buffered(stream: Any) -> io.BufferedReader:
    """Iterating over the decompressors' own lines costs a Python call per line."""
    return io.BufferedReader(stream, _BUFFER_BYTES)


def _open_zstd(path: str) -> Any:
    import pyarrow

    return _Counted(pyarrow.input_stream(path, compression="zstd"))


class _Counted(io.RawIOBase):
    """A stream without seek and tell, with the tell that a position is made from."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._offset = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._offset += len(data)
        return len(data)

    def tell(self) -> int:
        return self._offset

    def close(self) -> None:
        self._stream.close()
        super().close()


def _skip(stream: io.BufferedReader, count: int) -> None:
    while count > 0:
        data = stream.read(min(count, _SKIP_BYTES))
        if not data:
            return
        count -= len(data)
