"""From lines of bytes to the fields of CSV records; can go back to where a batch began."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from copy import copy
from functools import partial
from itertools import islice, tee
from operator import methodcaller

from millrace.formats.csv_fields import csv_options
from millrace.formats.csv_schema import CsvDialect
from millrace.formats.malformed_record import LineCounter, MalformedRecordError, shown_bytes
from millrace.formats.stream_format import MAX_RECORD_BYTES, is_cut, lines_before

__all__ = ["CsvParser"]


class CsvParser:
    """Parses records in batches: each is accepted, or the parser goes back.

    Args:
        lines: what is left of the file, each line with what ends it.
        position: the byte of the (decompressed) file at which they begin.
    """

    def __init__(
        self, dialect: CsvDialect, charset: str, lines: Iterable[bytes], position: int, path: str
    ) -> None:
        (self._lines,) = tee(lines, 1)
        self._mark = self._lines
        self._taken = 0
        """Lines that the last batch consists of."""
        self._options = csv_options(dialect)
        self._decode = methodcaller("decode", charset)
        self._comments = dialect.allow_comments
        self._between_records = True
        self.position = position
        self._line_counter = LineCounter(partial(lines_before, path, position))
        # the limit is the process's; at its default of 128 KiB it would refuse good records
        if csv.field_size_limit() < MAX_RECORD_BYTES:
            csv.field_size_limit(MAX_RECORD_BYTES)

    def rows(self, count: int) -> list[list[str]]:
        """The fields of the next records; none of an empty line. Fewer than ``count``: the end.

        Call `accept`, `pass_over` or `go_back` before the next batch.

        Raises:
            MalformedRecordError: one of them is no CSV; only the batch is known, not which.
        """
        self._mark = copy(self._lines)
        self._between_records = True
        lines = self._without_comments() if self._comments else self._lines
        reader = csv.reader(map(self._decode, lines), **self._options)
        self._taken = 1
        try:
            rows = self._noted(reader, count) if self._comments else list(islice(reader, count))
        except UnicodeDecodeError as error:
            near = error.object[max(0, error.start - 20) : error.start + 20]
            raise MalformedRecordError(
                f"bytes that are not {error.encoding}: {shown_bytes(near)}"
            ) from None
        except csv.Error as error:
            raise MalformedRecordError(f"broken CSV: {error}") from None
        self._taken = reader.line_num
        return rows

    def accept(self) -> None:
        """The last batch is good."""
        self._advance(list(islice(self._mark, self._taken)))

    def go_back(self) -> None:
        """The next batch begins where the last one did."""
        self._lines = self._mark

    def pass_over(self, error: MalformedRecordError, whole: bool) -> MalformedRecordError:
        """The last batch was one record, and malformed: go on behind it, or behind its first line.

        A quote that is never closed makes one record of all that follows, so there is no telling
        how many lines belong to a record that cannot be parsed.

        Returns:
            The error with the place of the record.
        """
        place = self.position, self._line_counter.line()
        self._lines = self._mark
        raw = list(islice(self._lines, self._taken if whole else 1))
        self._advance(raw)
        rest = raw[-1] if raw else b""
        while is_cut(rest) and (rest := next(self._lines, b"")):
            self.position += len(rest)
        return error.at(b"".join(raw), *place)

    def record(self) -> list[str] | None:
        """The fields of the next record that is no empty line; None at the end.

        Raises:
            MalformedRecordError: it is no CSV.
        """
        while True:
            try:
                rows = self.rows(1)
            except MalformedRecordError as error:
                raise self.pass_over(error, whole=False) from None
            self.accept()
            if not rows or rows[0]:
                return rows[0] if rows else None

    def _advance(self, lines: list[bytes]) -> None:
        self.position += sum(map(len, lines))
        self._line_counter.advance(len(lines))

    def _noted(self, reader: Iterable[list[str]], count: int) -> list[list[str]]:
        """The rows; `_without_comments` knows where each ends."""
        rows = []
        for row in islice(reader, count):
            self._between_records = True
            rows.append(row)
        return rows

    def _without_comments(self) -> Iterator[bytes]:
        """Empty lines instead of comments, as long as these are not inside of a quoted field."""
        for line in self._lines:
            if self._between_records and line.startswith(b"#"):
                yield b"\n"
            else:
                self._between_records = False
                yield line
