"""Reading of compressed files; the file extension determines the compression, as in Flink."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from typing import Any, BinaryIO

from millrace.filesystem.registry import file_system_of

__all__ = ["is_compressed", "open_binary"]

_BUFFER_BYTES = 1 << 18
_SKIP_BYTES = 1 << 20
_SUFFIXES = (".gz", ".gzip", ".bz2", ".xz", ".lzma", ".zst")


def is_compressed(path: str) -> bool:
    """Whether the name ends with an extension of compressed files (.gz, .bz2, .xz, .zst).

    >>> is_compressed("/data/flights.csv.gz")
    True
    """
    return path.lower().endswith(_SUFFIXES)


def open_binary(path: str, offset: int = 0) -> io.BufferedReader:
    """Open a file for reading, decompressed, at a byte offset in its decompressed content.

    Raises:
        OSError: the file cannot be opened, as for `open`.
        SerializationError: a .zst file on a Python that cannot read it.
    """
    stream = _open_decompressed(path)
    if offset and stream.seekable():
        stream.seek(offset)
    elif offset:
        _skip(stream, offset)
    return stream


def _open_decompressed(path: str) -> io.BufferedReader:
    name, file = path.lower(), file_system_of(path).open(path)
    if name.endswith((".gz", ".gzip")):
        return _buffered(_Owning(gzip.GzipFile(fileobj=file), file))
    if name.endswith(".bz2"):
        return _buffered(_Owning(bz2.BZ2File(file), file))
    if name.endswith((".xz", ".lzma")):
        return _buffered(_Owning(lzma.LZMAFile(file), file))
    if name.endswith(".zst"):
        return _buffered(_Counted(_zstd_stream(file)))
    return file if isinstance(file, io.BufferedReader) else _buffered(file)


def _buffered(stream: Any) -> io.BufferedReader:
    """A buffered reader of the stream: iteration over a decompressor's lines would cost a Python
    call per line."""
    return io.BufferedReader(stream, _BUFFER_BYTES)


def _zstd_stream(file: BinaryIO) -> Any:
    import pyarrow

    return pyarrow.input_stream(pyarrow.PythonFile(file, mode="r"), compression="zstd")


class _Owning(io.RawIOBase):
    """A decompressor that also closes its file."""

    def __init__(self, stream: Any, file: BinaryIO) -> None:
        self._stream = stream
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # all that there is before the place where a file is cut
        return int(self._stream.readinto1(buffer))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        self._stream.close()
        self._file.close()
        super().close()


class _Counted(io.RawIOBase):
    """A wrapper of a stream without seek and tell. It counts the bytes read, so that its position
    is known.
    """

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
