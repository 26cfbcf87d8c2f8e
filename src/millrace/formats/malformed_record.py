"""Error for an unreadable record, with its position."""

from __future__ import annotations

from collections.abc import Callable

from millrace.common.errors import SerializationError

__all__ = ["LineCounter", "MalformedRecordError", "as_malformed", "shown_bytes"]

_SHOWN = 200


class MalformedRecordError(SerializationError):
    """A record does not conform to its format.

    Args:
        reason: reason why the record is malformed.
        raw: its bytes, as far as they are known.
        offset: position of the record: a byte of the (decompressed) file, a row of a Parquet file.
        line: line in which the record begins, from 1; None in formats without lines.
        column: a character of the line, counted from 1, or the name of a column.
        tells_remedy: whether the reason says all that helps, so that a source adds nothing.
    """

    def __init__(
        self,
        reason: str,
        raw: bytes | None = None,
        offset: int | None = None,
        line: int | None = None,
        column: int | str | None = None,
        tells_remedy: bool = False,
    ) -> None:
        super().__init__(reason, raw, offset, line, column, tells_remedy)
        self.reason = reason
        self.raw = raw
        self.offset = offset
        self.line = line
        self.column = column
        self.tells_remedy = tells_remedy

    def __str__(self) -> str:
        column = None if self.column is None else f"column {self.column!r}"
        place = [
            *([] if self.line is None else [f"line {self.line}"]),
            *([] if column is None or column in self.reason else [column]),
            *([] if self.offset is None else [f"offset {self.offset}"]),
        ]
        said = f"{', '.join(place)}: {self.reason}" if place else self.reason
        return said if self.raw is None else f"{said}: {shown_bytes(self.raw)}"

    def of(self, raw: bytes) -> MalformedRecordError:
        """The same error with the bytes of the record."""
        return MalformedRecordError(self.reason, raw, self.offset, self.line, self.column)

    def at(self, raw: bytes, offset: int, line: int) -> MalformedRecordError:
        """The same error with the record's position."""
        return MalformedRecordError(self.reason, raw, offset, line, self.column)


def as_malformed(error: Exception) -> MalformedRecordError:
    """Convert any error that a format raised for a record to a `MalformedRecordError`."""
    if isinstance(error, MalformedRecordError):
        return error
    if isinstance(error, SerializationError):
        return MalformedRecordError(str(error))
    return MalformedRecordError(f"{type(error).__name__}: {error}")


def shown_bytes(raw: bytes) -> str:
    """The bytes for an error message, truncated.

    >>> shown_bytes(b"a,b")
    "b'a,b'"
    """
    return repr(raw) if len(raw) <= _SHOWN else f"{raw[:_SHOWN]!r}... ({len(raw)} bytes)"


class LineCounter:
    """Counts lines. The lines before the reader's start position are counted only if their number
    is requested.
    """

    def __init__(self, lines_before: Callable[[], int]) -> None:
        self._lines_before = lines_before
        self._before: int | None = None
        self._passed = 0

    def advance(self, lines: int) -> None:
        """Advance by this number of lines."""
        self._passed += lines

    def line(self) -> int:
        """Number of the next line, from 1."""
        if self._before is None:
            self._before = self._lines_before()
        return self._before + self._passed + 1
