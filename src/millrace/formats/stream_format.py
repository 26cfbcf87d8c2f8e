"""Formats that read a file as a stream of bytes. Flink docs: "FileSystem", Format Types."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from io import BufferedReader
from itertools import chain, islice, pairwise
from typing import Any, TypeVar

from millrace.common.types.batch import RowBatch
from millrace.formats.charset import decode_text, require_line_charset, strip_bom
from millrace.formats.compression import is_compressed, open_binary
from millrace.formats.file_format import FileFormat, FileRange, FormatReader
from millrace.formats.malformed_record import LineCounter, MalformedRecordError, as_malformed

__all__ = ["LineFormat", "LineReader", "StreamFormat", "TextLineFormat"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_LINES_AT_ONCE = 4096
MAX_RECORD_BYTES = 16 << 20
"""What is longer is no record: somebody forgot a line feed, or a quote."""
TOO_LONG = MalformedRecordError(f"a record is longer than {MAX_RECORD_BYTES} bytes")


def lines_before(path: str, offset: int) -> int:
    """How many line feeds stand before a byte of a (decompressed) file."""
    with open_binary(path) as stream:
        count = 0
        while offset > 0 and (data := stream.read(min(offset, 1 << 20))):
            count += data.count(b"\n")
            offset -= len(data)
        return count


def bounded_lines(stream: BufferedReader) -> Iterator[bytes]:
    """The lines with their line feeds; those of more than `MAX_RECORD_BYTES` in pieces."""
    return iter(partial(stream.readline, MAX_RECORD_BYTES), b"")


def is_cut(line: bytes) -> bool:
    """Whether it is a piece of `bounded_lines` that does not end its line."""
    return len(line) >= MAX_RECORD_BYTES and not line.endswith(b"\n")


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
        return LineReader(stream, file_range.end, self, path)


class LineReader(FormatReader[T]):
    """Reads lines until one begins at ``end`` or later."""

    def __init__(
        self, stream: BufferedReader, end: int, line_format: LineFormat[T], path: str
    ) -> None:
        self._stream = stream
        self._lines: Iterator[bytes] = bounded_lines(stream)
        self._end = end
        self._format = line_format
        self._position = start = stream.tell()
        self._line_counter = LineCounter(lambda: lines_before(path, start))
        self._finished = self._position >= end

    def read(self, max_records: int) -> RowBatch[T]:
        records: list[T] = []
        self.skipped = 0
        while (left := max_records - len(records) - self.skipped) > 0 and not self._finished:
            lines = self._next_lines(min(_LINES_AT_ONCE, left))
            records += self._decode(lines)
        return RowBatch(records)

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        self._stream.close()

    def _decode(self, lines: list[bytes]) -> list[T]:
        """The records of the lines; where there is a malformed one, of ever fewer together."""
        try:
            records = self._format.decode(lines)
        except Exception as error:
            if len(lines) > 1:
                half = len(lines) // 2
                return self._decode(lines[:half]) + self._decode(lines[half:])
            place = lines[0], self._position, self._line_counter.line()
            self.malformed(as_malformed(error).at(*place))
            records = []
        self._advance(lines)
        return records

    def _advance(self, lines: list[bytes]) -> None:
        self._position += sum(map(len, lines))
        self._line_counter.advance(len(lines))

    def _next_lines(self, count: int) -> list[bytes]:
        lines: list[bytes] = []
        try:
            lines.extend(islice(self._lines, count))
        except Exception as error:  # a file that is cut: the lines before it are good
            if not lines:
                raise
            self._lines, count = failing(error), len(lines)
        size = sum(map(len, lines))
        if size >= MAX_RECORD_BYTES:
            lines = self._without_long_lines(lines)
            size, count = sum(map(len, lines)), len(lines)
        after = self._position + size
        while lines and after - len(lines[-1]) >= self._end:
            after -= len(lines.pop())
        self._finished = len(lines) < count or after >= self._end
        return lines

    def _without_long_lines(self, lines: list[bytes]) -> list[bytes]:
        """Those before a line that is too long; or the line is passed over, if it is the first."""
        cuts = [i for i, line in enumerate(lines) if is_cut(line)]
        if not cuts:
            return lines
        kept, pieces = lines[: cuts[0]], chain(lines[cuts[0] :], self._lines)
        if kept or self._position >= self._end:
            self._lines = pieces
            return kept
        place = next(pieces), self._position, self._line_counter.line()
        self._advance([place[0]])
        for piece in pieces:
            self._position += len(piece)
            if not is_cut(piece):
                break
        self._lines = pieces
        self.malformed(TOO_LONG.at(*place))
        return []


def failing(error: Exception) -> Iterator[bytes]:
    """No lines, but an error where they would be."""
    yield from ()
    raise error


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
