"""Formats that read a file as a stream of bytes. Flink docs: "FileSystem", Format Types."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from io import BufferedReader, BytesIO
from itertools import pairwise
from typing import Any, TypeVar

from millrace.common.types.batch import RowBatch
from millrace.formats.charset import decode_text, require_line_charset, strip_bom
from millrace.formats.compression import is_compressed, open_binary
from millrace.formats.file_format import FileFormat, FileRange, FormatReader
from millrace.formats.line_blocks import TOO_LONG, LineBlock, LineBlocks
from millrace.formats.malformed_record import LineCounter, as_malformed

__all__ = ["LineFormat", "LineReader", "StreamFormat", "TextLineFormat"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def lines_before(path: str, offset: int) -> int:
    """Number of line feeds before a byte of a (decompressed) file."""
    with open_binary(path) as stream:
        count = 0
        while offset > 0 and (data := stream.read(min(offset, 1 << 20))):
            count += data.count(b"\n")
            offset -= len(data)
        return count


class StreamFormat(FileFormat[T_co]):
    """A format that reads files from their first byte on; decompression is automatic.

    A subclass says how to read records from an open stream. Positions are byte offsets in the
    decompressed content, and a reader is given a stream that stands at its position.
    """

    @staticmethod
    def text_line_format(charset_name: str = "utf-8") -> TextLineFormat:
        """Format that reads each line as a str; see `TextLineFormat`."""
        return TextLineFormat(charset_name)

    def is_splittable(self) -> bool:
        """Whether several subtasks may read pieces of one uncompressed file."""
        return False

    @abstractmethod
    def create_reader(
        self, stream: BufferedReader, path: str, file_range: FileRange
    ) -> FormatReader[T_co]:
        """Reader of the records that begin before ``file_range.end``.

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
        """Records of the given lines, which still have their line feeds."""

    def decode_block(self, block: bytes) -> list[T_co]:
        """Records of a block of whole lines, for formats where this is faster than line by line.

        Whatever it raises, `decode` is called for the same lines.
        """
        return self.decode(BytesIO(block).readlines())

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
        self._blocks = LineBlocks(stream)
        self._end = end
        self._format = line_format
        self._position = start = stream.tell()
        self._line_counter = LineCounter(lambda: lines_before(path, start))
        self._finished = self._position >= end
        self._failure: Exception | None = None

    def read(self, max_records: int) -> RowBatch[T]:
        records: list[T] = []
        self.skipped = 0
        # the end of one block and the beginning of the next would be two copies
        enough = max_records // 2
        while (left := max_records - len(records) - self.skipped) > enough and not self._finished:
            try:
                block = self._next_block(left)
            except Exception as error:  # a file that is cut: the lines before it are good
                if not records and not self.skipped:
                    raise
                self._failure = error
                break
            if block.cut:
                self._pass_over_long_line(block.data)
            elif records:
                records += self._decode_block(block)
            else:
                records = self._decode_block(block)
            self._finished = not block.lines or self._position >= self._end
        return RowBatch(records)

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        self._stream.close()

    def _next_block(self, max_lines: int) -> LineBlock:
        if self._failure is not None:
            raise self._failure
        return self._blocks.take(max_lines, self._end - self._position)

    def _decode_block(self, block: LineBlock) -> list[T]:
        try:
            records = self._format.decode_block(block.data)
        except Exception:
            return self._decode(BytesIO(block.data).readlines())
        self._advance(len(block.data), block.lines)
        return records

    def _decode(self, lines: list[bytes]) -> list[T]:
        """Records of the lines; if one is malformed, decodes ever smaller groups."""
        try:
            records = self._format.decode(lines)
        except Exception as error:
            if len(lines) > 1:
                half = len(lines) // 2
                return self._decode(lines[:half]) + self._decode(lines[half:])
            place = lines[0], self._position, self._line_counter.line()
            self.malformed(as_malformed(error).at(*place))
            records = []
        self._advance(sum(map(len, lines)), len(lines))
        return records

    def _advance(self, size: int, lines: int) -> None:
        self._position += size
        self._line_counter.advance(lines)

    def _pass_over_long_line(self, beginning: bytes) -> None:
        place = beginning, self._position, self._line_counter.line()
        self._advance(len(beginning) + self._blocks.pass_over(), 1)
        self.malformed(TOO_LONG.at(*place))


class TextLineFormat(LineFormat[str]):
    """Reads each line as a record, without its line feed (and the carriage return before it).

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
        return self.decode_block(b"".join(lines))

    def decode_block(self, block: bytes) -> list[str]:
        if not block:
            return []
        texts = decode_text(block, self.charset).split("\n")
        if not texts[-1]:
            texts.pop()
        return [text.removesuffix("\r") for text in texts] if b"\r" in block else texts
