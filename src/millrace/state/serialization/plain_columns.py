"""Encoding of batches of plain records column by column: numbers as arrays, short texts joined to
one.

`marshal` looks up every object with other references, and the operator that emits a batch holds
references to its records. A column has neither an object nor a header per value.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Sequence
from typing import Any

__all__ = ["ATOMS", "decode_columns", "encode_columns"]

ATOMS: frozenset[type] = frozenset({int, float, str, bytes, bool, type(None), complex})
"""Types whose values marshal keeps unchanged."""
MARSHAL_VERSION = 4
"""Version of marshal that every CPython since 3.4 can read."""

_FEWEST = 16
"""Minimum number of records for which columns are worth their cost."""
_MOST_COLUMNS = 32
_LONGEST = 64
"""Maximum average length of a column's texts. Longer texts, if equal, must not be copied."""
_SAMPLE = 256
_FLAT = frozenset({int, float, str})
_BETWEEN = "\0"

_OBJECTS, _TEXTS, _FEW_TEXTS = "o", "t", "T"
_Column = tuple[str, Any]
"""Code and data of a column. The code is an array's type code, or one of the three codes above."""


def encode_columns(values: list[Any], timestamps: list[int] | None) -> bytes | None:
    """Encoded batch of records with their event times (or None); None if the records have no plain
    columns.

    Records have plain columns if they are numbers or texts, or tuples of one length with plain
    values.

    Example:
        >>> batch = [(word, number) for number, word in enumerate("abcdefghijklmnop")]
        >>> decode_columns(encode_columns(batch, None)) == (batch, None)
        True
    """
    if len(values) < _FEWEST:
        return None
    columns = _columns_of_tuples(values) if type(values[0]) is tuple else _flat_column(values)
    if columns is None:
        return None
    times = None if timestamps is None else _times(timestamps)
    if times is None and timestamps is not None:
        return None
    return marshal.dumps((type(values[0]) is tuple, columns, times), MARSHAL_VERSION)


def decode_columns(data: bytes | memoryview) -> tuple[list[Any], list[int] | None]:
    """Batch that was given to `encode_columns`."""
    tuples, columns, times = marshal.loads(data)
    read = [_read(*column) for column in columns]
    values = list(zip(*read, strict=True)) if tuples else read[0]
    return values, None if times is None else _read(*times)


def _columns_of_tuples(values: list[tuple[Any, ...]]) -> list[_Column] | None:
    first = values[0]
    if not (0 < len(first) <= _MOST_COLUMNS and ATOMS.issuperset(map(type, first))):
        return None
    if len(set(map(type, values))) > 1:
        return None
    try:
        transposed = list(zip(*values, strict=True))
    except ValueError:  # tuples of several lengths
        return None
    columns = []
    for values_of_column in transposed:
        column = _column(values_of_column)
        if column is None:
            return None
        columns.append(column)
    return columns


def _flat_column(values: list[Any]) -> list[_Column] | None:
    if type(values[0]) not in _FLAT:
        return None
    column = _column(values)
    return None if column is None or column[0] == _OBJECTS else [column]


def _column(values: Sequence[Any]) -> _Column | None:
    """Code and data of a column; None if some values are not plain."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return _numbers(values, "i")
    if kinds == {float}:
        return "d", array("d", values).tobytes()
    if kinds == {str}:
        return _texts(values)
    return (_OBJECTS, values) if kinds <= ATOMS else None


def _numbers(values: Sequence[int], code: str) -> _Column:
    try:
        return code, array(code, values).tobytes()
    except OverflowError:
        return _numbers(values, "q") if code == "i" else (_OBJECTS, values)


def _times(timestamps: list[int]) -> _Column | None:
    """The column of event times, which may be other than whole numbers; None if some of them are
    not plain."""
    try:
        return "q", array("q", timestamps).tobytes()
    except (OverflowError, TypeError):
        return _column(timestamps)


def _texts(values: Sequence[str]) -> _Column:
    joined = _BETWEEN.join(values)
    if len(joined) > _LONGEST * len(values) or joined.count(_BETWEEN) != len(values) - 1:
        return _OBJECTS, values
    sample = values[:_SAMPLE]
    return _FEW_TEXTS if 2 * len(set(sample)) < len(sample) else _TEXTS, joined


def _read(code: str, data: Any) -> list[Any]:
    if code == _OBJECTS:
        return data if type(data) is list else list(data)
    if code == _TEXTS:
        texts: list[str] = data.split(_BETWEEN)
        return texts
    if code == _FEW_TEXTS:
        # equal texts are one object: less memory where they are kept, and hashed once
        texts = data.split(_BETWEEN)
        shared: dict[str, str] = {}
        return list(map(shared.setdefault, texts, texts))
    numbers: array[Any] = array(code)
    numbers.frombytes(data)
    return numbers.tolist()
