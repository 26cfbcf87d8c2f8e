"""Looks at the footer and the page headers of a Parquet file before anything in it is decoded.

What a few bytes of Parquet can stand for has no bound: pages are compressed, repeated values are
counted, dictionaries are referred to. Files of states are written plainly (no dictionaries, one
encoding), so the headers tell how much decoding will make; a file that would make far more than it
is long is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from millrace.state.canonical.thrift_compact import ThriftError, read_struct

__all__ = ["BombError", "Footer", "checked_footer", "read_footer", "within_limits"]

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
_MOST_FOOTER = 32 << 20
_MOST_HEADER = 1 << 12
_FREE_BYTES = 8 << 20
_FREE_VALUES = 1 << 16
_FACTOR = 16
_CODECS = frozenset({0, 1, 6})
"""Uncompressed, Snappy, Zstandard."""
_DATA_PAGE = 0
_PLAIN = frozenset({0, 3})
"""Plain, and run lengths, which pages of booleans may be."""

Fields = dict[int, Any]


class BombError(ValueError):
    """Decoding the file would make far more than it is long, or it is encoded in another way."""


def within_limits(length: int, expanded: int, values: int) -> bool:
    """Whether a file of a length may make so many bytes, and so many values in one column."""
    return expanded <= _FREE_BYTES + _FACTOR * length and values <= _FREE_VALUES + _FACTOR * length


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a file says (parquet.thrift, ``FileMetaData``)."""

    length: int
    """Of the file, in bytes."""
    rows: int
    groups: list[Fields]

    def filled(self) -> list[int]:
        """The row groups with rows."""
        return [number for number, group in enumerate(self.groups) if group[3]]

    def expanded(self) -> int:
        """Bytes before compression."""
        return sum(chunk[6] for column in self.columns() for chunk in column)

    def values(self) -> int:
        """The most values in a column."""
        return max((sum(chunk[5] for chunk in column) for column in self.columns()), default=0)

    def columns(self) -> Iterator[list[Fields]]:
        """Per column, what is said of its chunks."""
        for chunks in zip(*(group[1] for group in self.groups), strict=True):
            yield [chunk[3] for chunk in chunks]

    def bounds(self, group: int) -> tuple[int, int] | None:
        """Least and greatest value of the first column, of 32 bits; None: not in the file."""
        statistics = self.groups[group][1][0][3].get(12, {})
        least, most = statistics.get(6), statistics.get(5)
        if statistics.get(3) or least is None or most is None or len(least) != 4 != len(most):
            return None
        return int.from_bytes(least, "little", signed=True), int.from_bytes(
            most, "little", signed=True
        )


def read_footer(file: IO[bytes], length: int) -> Footer:
    """The footer of a file of some length; its position is changed.

    Raises:
        BombError: it is not of the making of states' files.
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
    """Raises one of several errors unless all is there that is relied on."""
    if sum(group[3] for group in footer.groups) != footer.rows:
        raise ValueError("its row groups have other numbers of rows")
    for column in footer.columns():
        for chunk in column:
            if chunk[4] not in _CODECS or 11 in chunk:
                raise ValueError("a column has a dictionary or an unknown compression")
            if min(chunk[5], chunk[6], chunk[7], chunk[9]) < 0:
                raise ValueError("a column has a negative length")
    for group in footer.groups:
        if group[3] < 0 or any(1 in chunk or 8 in chunk or 9 in chunk for chunk in group[1]):
            raise ValueError("a column is elsewhere or encrypted")


def checked_footer(file: IO[bytes], length: int) -> Footer:
    """The footer of a file all of whose pages have been looked at.

    Raises:
        BombError: it is not of the making of states' files, or stands for too much.
    """
    footer = read_footer(file, length)
    expanded = 0
    for column in footer.columns():
        values = 0
        for number, chunk in enumerate(column):
            if not footer.groups[number][3] and not chunk[5]:
                continue  # is not read
            made, count = _walk(file, length, chunk)
            expanded, values = expanded + made, values + count
            if not within_limits(length, expanded, values):
                raise BombError(f"its {length} bytes stand for far more than they can hold")
    if footer.rows > footer.values():
        raise BombError("it has fewer values than rows")
    return footer


def _walk(file: IO[bytes], length: int, chunk: Fields) -> tuple[int, int]:
    """Bytes and values that the pages of a column chunk stand for."""
    position, end = chunk[9], chunk[9] + chunk[7]
    if not 0 < position <= end <= length:
        raise BombError("a column lies outside of it")
    made = count = 0
    while position < end:
        file.seek(position)
        try:
            header, size = read_struct(file.read(min(_MOST_HEADER, end - position)))
        except ThriftError as error:
            raise BombError(f"the header of a page is damaged: {error}") from None
        expanded, values = _page(header)
        made, count = made + expanded, count + values
        position += size + header[3]
    if position != end or count != chunk[5]:
        raise BombError("its pages are not what its footer says")
    return made, count


def _page(header: Fields) -> tuple[int, int]:
    """Bytes and values of a page."""
    try:
        kind, expanded, stored, data = header[1], header[2], header[3], header[5]
        values, encoding = data[1], data[2]
        if kind != _DATA_PAGE or encoding not in _PLAIN or min(expanded, stored, values) < 0:
            raise BombError("it has pages of another kind or encoding")
    except (KeyError, TypeError):
        raise BombError("it has pages of another kind") from None
    return expanded, values
