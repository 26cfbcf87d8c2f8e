"""Reads structs of Thrift's compact protocol, in which Parquet's footers and page headers are.

pyarrow shows footers, too, but ends the process where one is tampered with.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ThriftError", "read_struct"]

MAX_DEPTH = 12
Fields = dict[int, Any]
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


class ThriftError(ValueError):
    """These bytes are no struct."""


def read_struct(data: bytes, at: int = 0) -> tuple[Fields, int]:
    """The fields of the struct at a place by their numbers, and where it ends.

    Raises:
        ThriftError: there is none.
    """
    try:
        return _struct(data, at, 0)
    except IndexError:
        raise ThriftError("it ends within a structure") from None


def _struct(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    if depth > MAX_DEPTH:
        raise ThriftError("its structures are nested too deep")
    found: Fields = {}
    field = 0
    while data[at]:
        delta, kind = data[at] >> 4, data[at] & 15
        at += 1
        if delta:
            field += delta
        else:
            field, at = _signed(data, at)
        if kind in (_TRUE, _FALSE):
            found[field] = kind == _TRUE
        else:
            found[field], at = _value(data, at, kind, depth)
    return found, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_I16, _I32, _I64):
        return _signed(data, at)
    if kind == _BINARY:
        size, at = _unsigned(data, at)
        if size > len(data) - at:
            raise ThriftError("a text is longer than what there is")
        return data[at : at + size], at + size
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    if kind in (_LIST, _SET):
        return _list(data, at, depth + 1)
    if kind in (_TRUE, _FALSE, _BYTE):
        return data[at], at + 1
    if kind == _DOUBLE:
        return None, at + 8
    raise ThriftError("it has a field of another type")


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _unsigned(data, at)
    if size > len(data) - at or depth > MAX_DEPTH:
        raise ThriftError("a list is longer than what there is")
    found = []
    for _ in range(size):
        item, at = _value(data, at, kind, depth)
        found.append(item)
    return found, at


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
