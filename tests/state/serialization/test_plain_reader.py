"""Reading marshal's format without trusting it."""

from __future__ import annotations

import contextlib
import marshal
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import SerializationError
from millrace.state.serialization.plain_reader import MAX_DEPTH, read_plain

atoms = (
    st.none()
    | st.booleans()
    | st.integers(-(2**100), 2**100)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.text("ab", min_size=250, max_size=300)
    | st.binary()
)
hashable = st.recursive(
    atoms, lambda inner: st.tuples(inner, inner) | st.frozensets(inner), max_leaves=5
)
values = st.recursive(
    atoms | st.sets(hashable),
    lambda inner: st.lists(inner) | st.dictionaries(hashable, inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(value=values, version=st.sampled_from([2, 3, 4]))
def test_reads_what_marshal_writes(value: Any, version: int) -> None:
    """In all versions of the format that are in use."""
    assert repr(read_plain(marshal.dumps(value, version))) == repr(
        marshal.loads(marshal.dumps(value, version))
    )


def test_shared_values_are_shared_again() -> None:
    """References are followed."""
    shared = ("a", 1.5)
    first, second = read_plain(marshal.dumps([shared, shared]))
    assert first is second


def nested(depth: int) -> bytes:
    return b")\x01" * depth + b"N"


def bomb(levels: int) -> bytes:
    """A list of pairs, each of twice the one before: 2 ** levels values in a few bytes."""
    pairs = [b"\xa9\x00"]
    pairs += [b"\xa9\x02" + 2 * (b"r" + struct.pack("<i", n + 1)) for n in range(levels)]
    return b"\xdb" + struct.pack("<i", len(pairs)) + b"".join(pairs)


def colliding(count: int) -> bytes:
    """A dict whose keys all have the same hash."""
    keys = [marshal.dumps(n * (2**61 - 1), 2) for n in range(1, count)]
    return b"{" + b"".join(key + b"N" for key in keys) + b"0"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "ends too early"),
        (b"s\xff\xff\xff\x7fabc", "ends too early"),
        (b"s\xff\xff\xff\xffabc", "ends too early"),
        (b"[\xff\xff\xff\x7f", "ends too early"),
        (b"(\xff\xff\xff\x7fNN", "ends too early"),
        (b"l\x00\x00\x00\x80", "ends too early"),
        (b"l\x01\x00\x00\x00\xff\xff", "does not write"),
        (b"r\x05\x00\x00\x00", "a reference to nothing"),
        (b"\xa9\x01r\x00\x00\x00\x00", "a reference to nothing"),
        (b"NN", "bytes after its end"),
        (b"0", "not plain data"),
        (b"[\x01\x00\x00\x000", "an end where none may be"),
        (b"{N0", "an end where none may be"),
        (b"{[\x00\x00\x00\x00N0", "unhashable"),
        (b"z\x02\xff\xff", "ascii"),
        (marshal.dumps((lambda: 1).__code__), "not plain data"),
        (b"S", "not plain data"),
        (nested(MAX_DEPTH + 2), "nested deeper"),
        (nested(1_000_000), "nested deeper"),
        (bomb(60), "repeats itself too often"),
        (colliding(3000), "the same hash"),
    ],
)  # fmt: skip
def test_attacks_are_refused(data: bytes, message: str) -> None:
    """Without allocating, recursing or computing for long."""
    with pytest.raises(SerializationError, match=message):
        read_plain(data)


def test_big_numbers_do_not_take_their_square() -> None:
    """A megabyte of digits is read in time."""
    number = (1 << 8_000_000) - 12345
    assert read_plain(marshal.dumps(-number)) == -number


@settings(max_examples=200, deadline=None)
@given(value=values, data=st.data())
def test_damaged_bytes_give_a_value_or_our_error(value: Any, data: st.DataObject) -> None:
    """Nothing else."""
    written = bytearray(marshal.dumps(value))
    for _ in range(data.draw(st.integers(1, 4))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(SerializationError):
        read_plain(bytes(written))
