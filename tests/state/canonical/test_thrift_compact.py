"""Structs of Thrift that are made to cost more than their bytes."""

from __future__ import annotations

import pytest

from millrace.state.canonical.thrift_compact import MAX_STRUCTURES, ThriftError, read_struct

LIST_OF_STRUCTS = bytes([0x19, 0xFC])


def varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def structs(count: int) -> bytes:
    """A struct whose field 1 is a list of so many empty structs."""
    return LIST_OF_STRUCTS + varint(count) + bytes(count) + b"\0"


def test_a_list_of_structs() -> None:
    assert read_struct(structs(3)) == ({1: [{}, {}, {}]}, len(structs(3)))


def test_too_many_structures() -> None:
    """A byte each, and a dict each."""
    with pytest.raises(ThriftError, match="too many"):
        read_struct(structs(MAX_STRUCTURES))


def test_a_field_that_nobody_knows() -> None:
    """Each would be kept."""
    with pytest.raises(ThriftError, match="unknown fields"):
        read_struct(b"\x01" + varint(2 * 101) + b"\0")


def test_more_elements_than_bytes() -> None:
    with pytest.raises(ThriftError):
        read_struct(LIST_OF_STRUCTS + varint(1 << 30) + b"\0")


def test_structures_in_structures() -> None:
    with pytest.raises(ThriftError, match="nested too deep"):
        read_struct(b"\x1c" * 10_000)
