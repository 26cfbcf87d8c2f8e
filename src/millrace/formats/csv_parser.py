"""Parser from lines of bytes to the fields of CSV records; it can return to the start of a
batch."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from io import StringIO
from itertools import chain, islice

from millrace.formats.csv_fields import csv_options
from millrace.formats.csv_schema import CsvDialect
from millrace.formats.line_blocks import MAX_RECORD_BYTES, TOO_LONG, is_cut
from millrace.formats.malformed_record import LineCounter, MalformedRecordError, shown_bytes
from millrace.formats.stream_format import lines_before

__all__ = ["CsvParser"]


class CsvParser:
    """Parses records in batches. The caller accepts each batch, or has it read again.

    Args:
        lines: remaining lines of the file, each with its line end.
        position: the byte of the (decompressed) file at which they begin.
    """

    def __init__(
        self, dialect: CsvDialect, charset: str, lines: Iterator[bytes], position: int, path: str
    ) -> None:
        self._lines = lines
        self._returned: list[bytes] = []
        """Lines to be parsed before all others."""
        self._batch: list[bytes] = []
        """The lines of the last batch."""
        self._options = csv_options(dialect)
        self._charset = charset
        self._quote = dialect.quote_char if dialect.escape_char is None else None
        """Quote character, without which no record can continue in another line; None if an escape
        character can have this effect, too."""
        self._comments = dialect.allow_comments
        self._between_records = True
        self.position = position
        self._line_counter = LineCounter(partial(lines_before, path, position))
        # the limit is the process's; at its default of 128 KiB it would refuse good records
        if csv.field_size_limit() < MAX_RECORD_BYTES:
            csv.field_size_limit(MAX_RECORD_BYTES)

    def rows(self, count: int) -> list[list[str]] | None:
        """Fields of the records that begin in the next lines. An empty line has no fields. None at
        the end.

        Call `accept`, `pass_over` or `go_back` before the next batch.

        Raises:
            MalformedRecordError: a record of the batch is not CSV; it is unknown which one.
        """
        self._batch = lines = self._take(count)
        if not lines:
            return None
        content = b"".join(lines)
        if len(content) >= MAX_RECORD_BYTES and any(map(is_cut, lines)):
            raise TOO_LONG
        if not self._comments and (parsed := self._parsed(content)) is not None:
            return parsed
        self._between_records = True
        rows: list[list[str]] = []
        append, last = rows.append, len(lines)
        try:
            text = StringIO(content.decode(self._charset), newline="\n")
            texts = chain(text, self._more())
            reader = csv.reader(
                self._without_comments(texts) if self._comments else texts, **self._options
            )
            for row in reader:
                append(row)  # a loop, and not list(): the last record may need further lines
                if reader.line_num >= last:
                    break
                self._between_records = True
        except UnicodeDecodeError as error:
            near = error.object[max(0, error.start - 20) : error.start + 20]
            raise MalformedRecordError(
                f"bytes that are not {error.encoding}: {shown_bytes(near)}"
            ) from None
        except csv.Error as error:
            raise MalformedRecordError(f"broken CSV: {error}") from None
        return rows

    def _parsed(self, content: bytes) -> list[list[str]] | None:
        """Records of these lines; None if the last record is incomplete or one is malformed."""
        try:
            text = content.decode(self._charset)
            if self._quote is None or self._quote in text:
                return list(csv.reader(StringIO(text, newline="\n"), **self._options))
            texts = text.split("\n")
            if not texts[-1]:
                texts.pop()
            return list(csv.reader(texts, **self._options))
        except (UnicodeDecodeError, csv.Error):
            return None

    def block(self, count: int) -> bytes:
        """Next lines as raw bytes; empty at the end. Call `accept` or `go_back` afterwards."""
        self._batch = self._take(count)
        return b"".join(self._batch)

    def accept(self) -> None:
        """Accept the last batch."""
        self._advance(self._batch)
        self._batch = []

    def go_back(self) -> None:
        """Go back to the start of the last batch, so that it is read again."""
        self._returned = self._batch + self._returned
        self._batch = []

    def pass_over(self, error: MalformedRecordError, whole: bool) -> MalformedRecordError:
        """Skip the last batch, which is a single malformed record. Either its whole text is
        skipped, or only its first line.

        A quote that is never closed makes one record of all that follows, so there is no telling
        how many lines belong to a record that cannot be parsed.

        Returns:
            The error with the place of the record.
        """
        place, lines = (self.position, self._line_counter.line()), len(self._batch)
        self.go_back()
        raw = self._take(lines if whole else 1)
        self._advance(raw)
        rest = raw[-1] if raw else b""
        while is_cut(rest) and (piece := self._take(1)):
            rest = piece[0]
            self.position += len(rest)
        return error.at(b"".join(raw), *place)

    def record(self) -> list[str] | None:
        """Fields of the next non-empty record; None at the end.

        Raises:
            MalformedRecordError: the record is not CSV.
        """
        rows: list[list[str]] | None = [[]]
        while rows == [[]]:
            try:
                rows = self.rows(1)
            except MalformedRecordError as error:
                raise self.pass_over(error, whole=False) from None
            self.accept()
        return None if rows is None else rows[0]

    def _take(self, count: int) -> list[bytes]:
        lines, self._returned = self._returned[:count], self._returned[count:]
        try:
            lines.extend(islice(self._lines, count - len(lines)))
        except Exception as error:  # a file that is cut: the lines before it are good
            if not lines:
                raise
            self._lines = failing(error)
        return lines

    def _more(self) -> Iterator[str]:
        """Lines after the batch, for a record that continues there."""
        while line := self._take(1):
            self._batch += line
            yield line[0].decode(self._charset)

    def _advance(self, lines: list[bytes]) -> None:
        self.position += sum(map(len, lines))
        self._line_counter.advance(len(lines))

    def _without_comments(self, lines: Iterator[str]) -> Iterator[str]:
        """The lines, with comments outside of quoted fields replaced by empty lines."""
        for line in lines:
            if self._between_records and line.startswith("#"):
                yield "\n"
            else:
                self._between_records = False
                yield line


def failing(error: Exception) -> Iterator[bytes]:
    """An iterator that raises the given error instead of yielding lines."""
    yield from ()
    raise error
