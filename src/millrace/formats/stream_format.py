"""Formats that read a file as a stream of bytes. Flink docs: "FileSystem", Format Types."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from io import BufferedReader
from itertools import islice, pairwise
from typing import Any, TypeVar

from millrace.common.types.batch import RowBatch
from millrace.formats.charset import decode_text, require_line_charset, strip_bom
from millrace.formats.compression import is_compressed, open_binary
from millrace.formats.file_format import FileFormat, FileRange, FormatReader

__all__ = ["LineFormat", "LineReader", "StreamFormat", "TextLineFormat"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_LINES_AT_ONCE = 4096


class StreamFormat(FileFormat[T_co]):
    """A format that is read from its first byte on; decompression is taken care of.

    A subclass says how to read records from an open stream. Positions are byte offsets in the
    decompressed content, and a reader is given a stream that stands at its position.
    """

    @staticmethod
    def text_line_format(charset_name: str = "utf-8") -> TextLineFormat:
        """Each line is a record of type str; see `TextLineFormat`."""
        return TextLineFormat(charset_name)

    def is_splittable(self) -> bool:
        """Whether several subtasks may read pieces of one file, if it is not compressed."""
        return False

    @abstractmethod
    def create_reader(
        self, stream: BufferedReader, path: str, file_range: FileRange
    ) -> FormatReader[T_co]:
        """A reader of the records that begin before ``file_range.end``.

        ``stream`` stands at the first record, or at the position to go on from.
        """

    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        if not self.is_splittable() or is_compressed(path):
            return [FileRange(0, _WHOLE)]
        pieces = max(1, round(size / split_size))
        bounds = [size * i // pieces for i in range(pieces)] + [_WHOLE]
        return [FileRange(a, b) for a, b in pairwise(bounds)]

    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[T_co]:
        if position is not None or file_range.start == 0:
            stream = open_binary(path, position or 0)
        else:
            # A record belongs to the piece it begins in, so the end of the one before is skipped.
            stream = open_binary(path, file_range.start - 1)
            stream.readline()
        return self.create_reader(stream, path, file_range)


_WHOLE = 1 << 62


class LineFormat(StreamFormat[T_co]):
    """A splittable format with one record per line."""

    charset = "utf-8"

    def is_splittable(self) -> bool:
        return True

    @abstractmethod
    def decode(self, lines: list[bytes]) -> list[T_co]:
        """The records of these lines, which still have their line feeds."""

    def create_reader(
        self, stream: BufferedReader, path: str, file_range: FileRange
    ) -> FormatReader[T_co]:
        strip_bom(stream, self.charset)
        return LineReader(stream, file_range.end, self)


class LineReader(FormatReader[T]):
    """Reads lines until one begins at ``end`` or later."""

    def __init__(self, stream: BufferedReader, end: int, line_format: LineFormat[T]) -> None:
        self._stream = stream
        self._lines: Iterator[bytes] = iter(stream)
        self._end = end
        self._format = line_format
        self._position = stream.tell()
        self._finished = self._position >= end

    def read(self, max_records: int) -> RowBatch[T]:
        records: list[T] = []
        while len(records) < max_records and not self._finished:
            lines = self._next_lines(min(_LINES_AT_ONCE, max_records - len(records)))
            records += self._format.decode(lines)
            self._position += sum(map(len, lines))
        return RowBatch(records)

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        self._stream.close()

    def _next_lines(self, count: int) -> list[bytes]:
        lines = list(islice(self._lines, count))
        after = self._position + sum(map(len, lines))
        while lines and after - len(lines[-1]) >= self._end:
            after -= len(lines.pop())
        self._finished = len(lines) < count or after >= self._end
        return lines


class TextLineFormat(LineFormat[str]):
    """Each line is a record, without its line feed (and the carriage return before it).

    Made by `StreamFormat.text_line_format`. Unlike Flink, bytes that are not valid in the charset
    are an error: replacing them would lose data silently.

    Raises:
        JobDefinitionError: the charset is unknown, or wide such as UTF-16.

    >>> TextLineFormat().decode([b"to be\\n", b"or not\\r\\n", b"\\n", b"to be"])
    ['to be', 'or not', '', 'to be']
    """

    def __init__(self, charset: str = "utf-8") -> None:
        self.charset = require_line_charset(charset)

    def decode(self, lines: list[bytes]) -> list[str]:
        if not lines:
            return []
        texts = decode_text(b"".join(lines), self.charset).split("\n")
        if lines[-1].endswith(b"\n"):
            texts.pop()
        return [text.removesuffix("\r") for text in texts]
