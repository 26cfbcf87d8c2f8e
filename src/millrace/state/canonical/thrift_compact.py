"""Reader for structs of Thrift's compact protocol, the format of Parquet's footers and page
headers.

pyarrow reads footers, too, but a manipulated footer makes it end the process.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ThriftError", "read_struct"]

MAX_DEPTH = 12
MAX_STRUCTURES = 1_000_000
"""Maximum number of structs and lists in one struct. Each takes far more memory than the single
byte that may encode it."""
MAX_FIELD = 100
Fields = dict[int, Any]
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


class ThriftError(ValueError):
    """The bytes are no struct of Thrift."""


def read_struct(data: bytes, at: int = 0) -> tuple[Fields, int]:
    """Fields, by number, of the struct at the position ``at``, and the position after the struct.

    Raises:
        ThriftError: there is no struct at that position.
    """
    try:
        return _struct(data, at, 0, [MAX_STRUCTURES])
    except IndexError:
        raise ThriftError("it ends within a structure") from None


def _struct(data: bytes, at: int, depth: int, left: list[int]) -> tuple[Fields, int]:
    _count(depth, left)
    fields: Fields = {}
    field = 0
    while data[at]:
        delta, kind = data[at] >> 4, data[at] & 15
        at += 1
        if delta:
            field += delta
        else:
            field, at = _signed(data, at)
        if field > MAX_FIELD:
            raise ThriftError("it has unknown fields")
        if kind in (_TRUE, _FALSE):
            fields[field] = kind == _TRUE
        else:
            fields[field], at = _value(data, at, kind, depth, left)
    return fields, at + 1


def _count(depth: int, left: list[int]) -> None:
    left[0] -= 1
    if depth > MAX_DEPTH or left[0] < 0:
        raise ThriftError("its structures are too many or nested too deep")


def _value(data: bytes, at: int, kind: int, depth: int, left: list[int]) -> tuple[Any, int]:
    if kind in (_I16, _I32, _I64):
        return _signed(data, at)
    if kind == _BINARY:
        size, at = _unsigned(data, at)
        if size > len(data) - at:
            raise ThriftError("a text is longer than the remaining bytes")
        return data[at : at + size], at + size
    if kind == _STRUCT:
        return _struct(data, at, depth + 1, left)
    if kind in (_LIST, _SET):
        return _list(data, at, depth + 1, left)
    if kind in (_TRUE, _FALSE, _BYTE):
        return data[at], at + 1
    if kind == _DOUBLE:
        return None, at + 8
    raise ThriftError("it has a field of another type")


def _list(data: bytes, at: int, depth: int, left: list[int]) -> tuple[list[Any], int]:
    _count(depth, left)
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _unsigned(data, at)
    if size > len(data) - at:
        raise ThriftError("a list is longer than the remaining bytes")
    items = []
    for _ in range(size):
        item, at = _value(data, at, kind, depth, left)
        items.append(item)
    return items, at


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return result, at
        if shift > 63:
            raise ThriftError("a number is too long")


def _signed(data: bytes, at: int) -> tuple[int, int]:
    number, at = _unsigned(data, at)
    return (number >> 1) ^ -(number & 1), at
