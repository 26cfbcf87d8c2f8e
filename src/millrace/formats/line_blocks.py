"""Lines of a stream, read in big blocks without a call per line, and with a limit on the length
of a line."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader, BytesIO
from itertools import chain
from typing import NamedTuple

from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["MAX_RECORD_BYTES", "TOO_LONG", "LineBlock", "LineBlocks", "bounded_lines", "is_cut"]

MAX_RECORD_BYTES = 16 << 20
"""Largest size of a line in bytes; a longer one probably lacks a line feed or a closing quote."""
TOO_LONG = MalformedRecordError(f"a record is longer than {MAX_RECORD_BYTES} bytes")
_BLOCK_BYTES = 1 << 16
"""Size of a block in bytes, which is decoded while it is in the processor's cache; four times the
size takes 1.5 times as long per line."""
_FEW = 16
"""Largest number of lines that are searched one by one."""


class LineBlock(NamedTuple):
    """Whole lines, each with its line feed; the last line of a file may have none."""

    data: bytes
    lines: int
    cut: bool = False
    """Whether the block is only the beginning of a line that is too long."""


_NOTHING = LineBlock(b"", 0)


class LineBlocks:
    """Takes blocks of lines from a stream.

    Args:
        stream: stands at the beginning of a line.
    """

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._block = b""
        self._at = 0
        """Position of the next line in the block."""
        self._rest = b""
        """Bytes read after the block: the beginning of a line."""

    def take(self, max_lines: int, max_bytes: int) -> LineBlock:
        """At most ``max_lines`` lines that begin within the next ``max_bytes`` bytes; no lines at
        the end of the stream.

        Raises:
            OSError, EOFError: the stream raised the error; earlier lines were returned before.
        """
        if self._at == len(self._block):
            self._block, self._at = self._next_block(), 0
            if self._is_cut():
                self._at = len(self._block)
                return LineBlock(self._block, 1, cut=True)
        block, at = self._block, self._at
        if at + max_bytes < len(block):
            end = block.find(b"\n", at + max_bytes - 1) + 1 or len(block)
        else:
            end = len(block)
        lines = self._first_lines(max_lines, end) if max_lines <= _FEW else None
        lines = lines or self._many_lines(max_lines, end)
        self._at += len(lines.data)
        return lines

    def pass_over(self) -> int:
        """Skip the rest of a line whose beginning was taken, and return its number of bytes."""
        passed = 0
        while True:
            if self._at == len(self._block):
                self._block, self._at = self._next_block(), 0
            if not self._block:
                return passed
            end = self._block.find(b"\n", self._at) + 1 or len(self._block)
            passed += end - self._at
            self._at = end
            if self._block[end - 1 : end] == b"\n":
                return passed

    def _first_lines(self, max_lines: int, end: int) -> LineBlock | None:
        block, upto = self._block, self._at
        for lines in range(max_lines):
            if upto >= end:
                return LineBlock(block[self._at : upto], lines)
            upto = block.find(b"\n", upto, end) + 1 or end
        return LineBlock(block[self._at : upto], max_lines)

    def _many_lines(self, max_lines: int, end: int) -> LineBlock:
        block, at = self._block, self._at
        data = block if at == 0 and end == len(block) else block[at:end]
        if not data:
            return _NOTHING
        lines = data.count(b"\n") + (data[-1:] != b"\n")
        if lines <= max_lines:
            return LineBlock(data, lines)
        behind = data.split(b"\n", max_lines)[-1]
        return LineBlock(data[: len(data) - len(behind)], max_lines)

    def _is_cut(self) -> bool:
        block = self._block
        return len(block) >= MAX_RECORD_BYTES and b"\n" not in block

    def _next_block(self) -> bytes:
        """Whole lines; or the first `MAX_RECORD_BYTES` of a longer line."""
        parts, size = [self._rest], len(self._rest)
        while True:
            if size >= MAX_RECORD_BYTES:
                joined = b"".join(parts)
                self._rest = joined[MAX_RECORD_BYTES:]
                return joined[:MAX_RECORD_BYTES]
            data = self._stream.read1(min(_BLOCK_BYTES, MAX_RECORD_BYTES - size))
            if not data:
                self._rest = b""
                return b"".join(parts)
            end = data.rfind(b"\n") + 1
            if end:
                self._rest = data[end:]
                return b"".join([*parts, data[:end]])
            parts.append(data)
            size += len(data)


def bounded_lines(stream: BufferedReader) -> Iterator[bytes]:
    """Lines with their line feeds; lines of more than `MAX_RECORD_BYTES` come in pieces."""
    return chain.from_iterable(_lists_of_lines(LineBlocks(stream)))


def _lists_of_lines(blocks: LineBlocks) -> Iterator[list[bytes]]:
    while lines := BytesIO(blocks.take(_MANY, _MANY).data).readlines():
        yield lines


_MANY = 1 << 62


def is_cut(line: bytes) -> bool:
    """Whether the line is only a piece of a longer line, which `bounded_lines` has cut."""
    return len(line) >= MAX_RECORD_BYTES and not line.endswith(b"\n")
