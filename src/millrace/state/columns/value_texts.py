"""Texts that describe the content of rows, arrays and maps, for keys that are compared by their
content."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["value_texts"]


def value_texts(column: pa.Array) -> pa.Array:
    """Text (large_binary) of each value, the same for equal values; null for null.

    >>> value_texts(pa.array([[1, None], None]))[0]
    <pyarrow.LargeBinaryScalar: b'[1, None]'>
    """
    is_map = pa.types.is_map(column.type)
    values = (_ordered(value) if is_map else value for value in column.to_pylist())
    texts = [None if value is None else repr(value).encode() for value in values]
    return pa.array(texts, pa.large_binary())


def _ordered(entries: Any) -> Any:
    """Entries of a map in a fixed order, because a map's own order does not count."""
    return entries and sorted(entries, key=repr)
