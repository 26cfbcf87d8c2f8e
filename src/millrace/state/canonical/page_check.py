"""Check of the footer and the page headers of a Parquet file before its content is decoded.

A few bytes of Parquet can stand for any amount of data: pages are compressed, repeated values are
counted, and dictionaries are shared. Our files of states use no dictionaries and a single encoding,
so the headers give the decoded size. A file whose decoded size is far greater than its length is
refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from millrace.state.canonical.thrift_compact import ThriftError, read_struct

__all__ = ["BombError", "Footer", "checked_footer", "few_enough", "read_footer", "within_limits"]

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
_MOST_FOOTER = 32 << 20
_MOST_HEADER = 1 << 12
_FREE_BYTES = 8 << 20
_BYTES_PER_BYTE = 16
_FREE_PARTS = 1 << 20
_PARTS_PER_BYTE = 2
_FREE_VALUES = 1 << 26
_CODECS = frozenset({0, 1, 6})
"""Codecs that we write: uncompressed, Snappy and Zstandard."""
_DATA_PAGE = 0
_PLAIN = frozenset({0, 3})
"""Encodings that we write: plain, and run lengths for pages of booleans."""

Fields = dict[int, Any]


class BombError(ValueError):
    """The decoded file would be far larger than the file itself, or its encoding is not one of
    ours."""


def few_enough(length: int, parts: int) -> bool:
    """Whether a file of ``length`` bytes can plausibly hold ``parts`` parts: values of a column, or
    lists and maps within untyped values. Without compression, each part takes at least one byte.
    """
    return parts <= _FREE_PARTS + _PARTS_PER_BYTE * length


def within_limits(footer: Footer) -> bool:
    """Whether the decoded size of a file is within our limits, which depend on the length of the
    file.
    """
    length = footer.length
    return (
        footer.expanded() <= _FREE_BYTES + _BYTES_PER_BYTE * length
        and few_enough(length, footer.values())
        and footer.all_values() <= _FREE_VALUES + _BYTES_PER_BYTE * length
    )


@dataclass(frozen=True, slots=True)
class Footer:
    """Footer of a Parquet file (parquet.thrift, ``FileMetaData``)."""

    length: int
    """Bytes of the file."""
    rows: int
    groups: list[Fields]

    def filled(self) -> list[int]:
        """Numbers of the row groups that are not empty."""
        return [number for number, group in enumerate(self.groups) if group[3]]

    def expanded(self) -> int:
        """Size of the file's content before compression, in bytes."""
        return sum(chunk[6] for column in self.columns() for chunk in column)

    def values(self) -> int:
        """Highest number of values in a column."""
        return max((sum(chunk[5] for chunk in column) for column in self.columns()), default=0)

    def all_values(self) -> int:
        """Number of values in all columns."""
        return sum(chunk[5] for column in self.columns() for chunk in column)

    def columns(self) -> Iterator[list[Fields]]:
        """Metadata of the chunks, column by column."""
        for chunks in zip(*(group[1] for group in self.groups), strict=True):
            yield [chunk[3] for chunk in chunks]

    def bounds(self, group: int) -> tuple[int, int] | None:
        """Least and greatest value of the first column, which has 32 bits; None if the file does
        not have them."""
        statistics = self.groups[group][1][0][3].get(12, {})
        least, most = statistics.get(6), statistics.get(5)
        if statistics.get(3) or least is None or most is None or len(least) != 4 != len(most):
            return None
        return int.from_bytes(least, "little", signed=True), int.from_bytes(
            most, "little", signed=True
        )


def read_footer(file: IO[bytes], length: int) -> Footer:
    """Footer of a file of ``length`` bytes; moves the file's position.

    Raises:
        BombError: the file does not have the form of our files.
    """
    if length < 12:
        raise BombError("it is too short")
    file.seek(length - _TAIL.size)
    size, magic = _TAIL.unpack(file.read(_TAIL.size))
    if magic != _MAGIC or size > min(_MOST_FOOTER, length - 12):
        raise BombError("it does not end as such a file does")
    file.seek(length - _TAIL.size - size)
    try:
        fields, _ = read_struct(file.read(size))
        footer = Footer(length, fields[3], fields[4])
        _check(footer)
    except (ThriftError, KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise BombError(f"its footer is damaged: {error}") from None
    return footer


def _check(footer: Footer) -> None:
    """Raises one of several errors unless the footer is consistent and its columns have a form
    that we write."""
    if sum(group[3] for group in footer.groups) != footer.rows:
        raise ValueError("its row groups have other numbers of rows")
    for column in footer.columns():
        for chunk in column:
            if chunk[4] not in _CODECS or 11 in chunk:
                raise ValueError("a column has a dictionary or an unknown compression")
            if min(chunk[5], chunk[6], chunk[7], chunk[9]) < 0:
                raise ValueError("a column has a negative length")
    if sum(chunk[7] for column in footer.columns() for chunk in column) > footer.length:
        raise ValueError("columns share their bytes")
    for group in footer.groups:
        if group[3] < 0 or any(1 in chunk or 8 in chunk or 9 in chunk for chunk in group[1]):
            raise ValueError("a column is elsewhere or encrypted")


def checked_footer(file: IO[bytes], length: int) -> Footer:
    """Footer of a file, after a check of all its pages.

    Raises:
        BombError: the file does not have the form of our files, or its decoded content is too big.
    """
    footer = read_footer(file, length)
    if not within_limits(footer):
        raise BombError(f"its {length} bytes stand for far more data than they can hold")
    for column in footer.columns():
        for number, chunk in enumerate(column):
            if footer.groups[number][3] or chunk[5]:  # others are not read
                _walk(file, length, chunk)
    if footer.rows > footer.values():
        raise BombError("it has fewer values than rows")
    return footer


def _walk(file: IO[bytes], length: int, chunk: Fields) -> None:
    """Raises BombError unless the pages of a column chunk agree with the footer."""
    position, end = chunk[9], chunk[9] + chunk[7]
    if not 0 < position <= end <= length:
        raise BombError("a column lies outside of the file")
    made = count = 0
    while position < end:
        file.seek(position)
        try:
            header, size = read_struct(file.read(min(_MOST_HEADER, end - position)))
        except ThriftError as error:
            raise BombError(f"the header of a page is damaged: {error}") from None
        expanded, values = _page(header)
        made, count = made + expanded + size, count + values
        position += size + header[3]
    if position != end or count != chunk[5] or made > chunk[6]:
        raise BombError("its pages are not what its footer says")


def _page(header: Fields) -> tuple[int, int]:
    """Bytes and number of values of a page."""
    try:
        kind, expanded, stored, data = header[1], header[2], header[3], header[5]
        values, encoding = data[1], data[2]
        if kind != _DATA_PAGE or encoding not in _PLAIN or min(expanded, stored, values - 1) < 0:
            raise BombError("it has pages of another kind or encoding")
    except (KeyError, TypeError):
        raise BombError("it has pages of another kind") from None
    return expanded, values
