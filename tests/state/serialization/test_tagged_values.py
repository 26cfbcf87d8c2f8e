"""Values without a type: what goes in comes out, and what does not belong is refused."""

from __future__ import annotations

import pickle
from collections import deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import SerializationError
from millrace.common.types.row import Row, RowKind
from millrace.common.window.time_window import TimeWindow
from millrace.state.serialization.tagged_values import dump_tagged, load_tagged

BERLIN = ZoneInfo("Europe/Berlin")
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary()
    | st.text(st.characters(exclude_categories=())) | st.decimals(allow_nan=False)
    | st.datetimes() | st.dates() | st.times() | st.timedeltas() | st.uuids() | st.fractions()
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(LEAVES, inner)
        | st.dictionaries(st.text(), inner)
        | st.frozensets(LEAVES)
        | st.sets(LEAVES)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_round_trip(value: Any) -> None:
    """Without leave to pickle."""
    found = load_tagged(dump_tagged(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        2**64, -(2**70), "\ud800", {"$tuple": 1}, {"$pickle": b"x"}, bytearray(b"x"), 1j,
        datetime(2020, 1, 1, fold=1), datetime(2020, 1, 1, tzinfo=BERLIN),
        datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=1))), time(1, 2, tzinfo=UTC),
        deque([1, 2], 3), Row(1, None), Row(a=1, b=(2,)), Row.of_kind(RowKind.DELETE, a=1),
        RowKind.DELETE, TimeWindow(1, 2), Fraction(10**30, 7), date(1, 1, 1),
    ],
)  # fmt: skip
def test_kinds_of_values(value: Any) -> None:
    """Each comes back as it was, and is not pickled."""
    data = dump_tagged(value)
    found = load_tagged(data)
    assert (type(found), repr(found)) == (type(value), repr(value))


def test_numbers_of_any_length() -> None:
    """Longer than Python writes in decimal."""
    assert load_tagged(dump_tagged(10**6000)) == 10**6000


class Point:
    """A class of a user."""

    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.x == self.x

    __hash__ = None  # type: ignore[assignment]


def test_other_classes_are_pickled_and_need_leave() -> None:
    """At whatever depth."""
    for value in (Point(1), [{"a": (Point(2),)}]):
        data = dump_tagged(value)
        with pytest.raises(SerializationError, match="reading pickles is not allowed"):
            load_tagged(data)
        assert load_tagged(data, pickle_allowed=True) == value


@pytest.mark.parametrize(
    "tree",
    [
        {"$nothing": 1},
        {"$pickle": pickle.dumps(1)},
        {"$data": ["os:system", ["x"]]},
        {"$data": ["millrace.state.serialization.payload:encode", {}]},
        {"$data": ["millrace.common.window.time_window:os.system", {}]},
        {"$data": ["millrace.common.window.time_window:TimeWindow", {"start": 1}]},
        {"$decimal": 10**18},
        {"$fraction": [1, 0]},
        {"$datetime": ["x", 0, None]},
        {"$set": [[1]]},
        {"$bytearray": {"$int": "0xffffffffffffffff"}},
        {"$uuid": 1},
        msgspec.msgpack.Ext(5, b"x"),
    ],
)
def test_what_is_never_written_is_refused(tree: Any) -> None:
    """With an error of ours."""
    with pytest.raises(SerializationError):
        load_tagged(msgspec.msgpack.encode(tree))


def test_depth_is_bounded() -> None:
    """In both directions; what contains itself can only be pickled."""
    with pytest.raises(SerializationError):
        load_tagged(b"\x91" * 100_000 + b"\xc0")
    endless: list[Any] = []
    endless.append(endless)
    assert load_tagged(dump_tagged(endless), pickle_allowed=True)[0]


def test_uuid_is_text() -> None:
    """So that other readers can tell what it is."""
    value = UUID(int=5)
    assert msgspec.msgpack.decode(dump_tagged(value)) == {"$uuid": str(value)}


def test_data_classes_that_have_moved_since_are_read() -> None:
    """Splits of tables are in savepoints from before the room of tables was one of its own."""
    split = {"split_id": "0-4", "start": 0, "end": 4}
    written = {"$data": ["millrace.runtime.table.record_batch_source:_Range", split]}
    read = load_tagged(msgspec.msgpack.encode(written))
    assert type(read).__module__ == "millrace.table_runtime.record_batch_source"
    assert (read.split_id, read.start, read.end) == ("0-4", 0, 4)
    assert load_tagged(dump_tagged(read)) == read
