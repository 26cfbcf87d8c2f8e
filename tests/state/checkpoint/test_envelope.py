"""The frame around structured content."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import CheckpointCorruptError, CheckpointError, SerializationError
from millrace.state.checkpoint.envelope import dump_plain, load_plain, seal, unseal

MAGIC = b"MAGICAL."
PATH = Path("dir/file")
CONTENT = {"a": [1, (2, b"x")], "b": None}


@given(st.recursive(st.integers() | st.binary() | st.text(), st.lists, max_leaves=8))
def test_round_trip(value: Any) -> None:
    """What goes in comes out."""
    assert unseal(PATH, MAGIC, 1, seal(MAGIC, 1, value)) == value


def test_every_truncation_is_found() -> None:
    """At whichever byte."""
    data = seal(MAGIC, 1, CONTENT)
    for end in range(len(data)):
        with pytest.raises(CheckpointCorruptError, match="dir/file"):
            unseal(PATH, MAGIC, 1, data[:end])
    with pytest.raises(CheckpointCorruptError):
        unseal(PATH, MAGIC, 1, data + b"\0")


def test_every_flipped_bit_is_found() -> None:
    """In the header as well as in the content."""
    data = seal(MAGIC, 1, CONTENT)
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CheckpointCorruptError, match="dir/file"):
            unseal(PATH, MAGIC, 1, bytes(damaged))


def test_a_later_format_is_no_damage() -> None:
    """It says what to do instead."""
    with pytest.raises(CheckpointError, match="version 2.*reads version 1") as caught:
        unseal(PATH, MAGIC, 1, seal(MAGIC, 2, CONTENT))
    assert not isinstance(caught.value, CheckpointCorruptError)


def test_nothing_is_pickled_or_unpickled() -> None:
    """Not even what claims to be of the pickle codec."""
    with pytest.raises(SerializationError):
        dump_plain({"a": PATH})
    with pytest.raises(CheckpointCorruptError, match="unknown encoding"):
        load_plain(PATH, b"p" + pickle.dumps(1))


def test_undecodable_content() -> None:
    """Cannot happen while the checksum holds; said all the same."""
    with pytest.raises(CheckpointCorruptError, match="cannot be decoded"):
        load_plain(PATH, b"m")
