"""Pickles that may name data classes only."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import struct
import uuid
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from type_samples import SAMPLES, Color, Money, exactly

from millrace.common.errors import SerializationError
from millrace.common.types import Row, RowKind
from millrace.common.window.time_window import TimeWindow
from millrace.connectors.file_source import FileSourceSplit
from millrace.formats.stream_format import FileRange
from millrace.state.layer import FileRef, Layer
from millrace.state.serialization.safe_pickle import dump_safe, load_safe

OURS: list[Any] = [
    Row(1, "x"),
    Row.of_kind(RowKind.DELETE, a=1, b=Row(2)),
    RowKind.UPDATE_AFTER,
    Layer(1, "v", 1, FileRef("a", 1, 2, 3)),
    TimeWindow(1, 2),
    FileSourceSplit("a.csv-0", "a.csv", FileRange(0, 5), 5),
    bytearray(b"xy"),
    deque([1, Decimal(2)]),
    OrderedDict(a=Decimal(1)),
    {TimeWindow(1, 2): [uuid.UUID(int=5)]},
    {number: Decimal(number) for number in range(3000)},
    {Decimal(number) for number in range(3000)},
    dt.datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Paris")),
    dt.timezone(dt.timedelta(hours=1), "home"),
    1 + 2j,
    frozenset([Fraction(1, 3)]),
]


@pytest.mark.parametrize("value", OURS, ids=lambda value: type(value).__name__)
def test_data_classes_come_back(value: Any) -> None:
    """Ours, and those of the standard library; also of what a usual pickle was made of."""
    assert exactly(load_safe(dump_safe(value)), value)
    assert exactly(load_safe(pickle.dumps(value, 5)), value)


@pytest.mark.parametrize("name", ["decimal", "fraction", "date", "datetime", "time", "uuid"])
@settings(max_examples=30)
@given(data=st.data())
def test_values_of_the_standard_library(name: str, data: st.DataObject) -> None:
    """In all their forms."""
    value = data.draw(SAMPLES[name][1])
    assert exactly(load_safe(dump_safe([value, value])), [value, value])


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Money(Decimal(1)), "type_samples.Money"),
        (Color.RED, "type_samples.Color"),
        (print, "builtins.builtin_function_or_method"),
        (lambda: 1, "builtins.function"),
        (Path("x"), "PosixPath"),
        ([{"a": object()}], "builtins.object"),
        (Money, "type_samples.Money"),
    ],
)
def test_others_are_not_written(value: Any, name: str) -> None:
    """The class is named."""
    with pytest.raises(SerializationError, match=name):
        dump_safe(value)


class Bomb:
    """Would run a command."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self._marker}",)


def test_a_bomb_does_not_go_off(tmp_path: Path) -> None:
    """The name is looked at, never the thing."""
    with pytest.raises(SerializationError, match="names posix.system"):
        load_safe(pickle.dumps([1, Bomb(tmp_path / "marker")]))
    assert not list(tmp_path.iterdir())


def named(module: str, name: str) -> bytes:
    """The instructions that push a class or function."""
    return b"c" + f"{module}\n{name}\n".encode()


WINDOW = named("millrace.common.window.time_window", "TimeWindow")
ROW = named("millrace.common.types.row", "Row")
NAMED_ROW = named("millrace.common.types.row", "named_row")
LAYER = named("millrace.state.layer", "Layer")


@pytest.mark.parametrize(
    "pickled",
    [
        named("builtins", "eval") + b"(Vprint(1)\ntR.",
        named("builtins", "getattr") + b"(" + ROW + b"V__init__\ntR.",
        named("builtins", "bytearray") + b"(J\xff\xff\xff\x7ftR.",
        named("builtins", "range") + b"(J\xff\xff\xff\x7ftR.",
        named("millrace.__main__", "main") + b".",
        named("millrace.cli.main", "main") + b".",
        named("millrace.common.types.row", "os") + b".",
        named("millrace.common.window.time_window", "TimeWindow.max_timestamp") + b".",
        named("functools", "partial") + b".",
        b"(Vx\ni__main__\nBomb\n.",
        b"(" + WINDOW + b"o.",
        b"\x82\x01.",
        b"Pid\n.",
        ROW + b"}V__init__\nNsb.",
        LAYER + b"}Vepoch\nNsb.",
        LAYER + b")R.",
        named("millrace.common.types.row", "RowKind") + b"(K\x00tR}V_value_\nK\x07sb.",
        named("decimal", "Decimal") + b"(V1\ntR}b.",
        ROW + b"K\x01a.",
        ROW + b"(K\x01tRK\x00K\x02s.",
        b"\x96" + struct.pack("<Q", 1 << 60) + b"x.",
        b"\x8e" + struct.pack("<Q", 1 << 60) + b"x.",
        b"\x8d" + struct.pack("<Q", 1 << 60) + b"x.",
        b"X\xff\xff\xff\xffx.",
        b"\x8b\xff\xff\xff\x7fx.",
        b"\x95" + struct.pack("<Q", 1 << 60) + b".",
        b"",
        b".",
        b"N",
        b"0.",
        b"t.",
        b"R.",
        b"]" + b"\x85" * 100_000 + b".",
        b")" + b"\x85" * 1_000_000 + b"}" + b"\x94\x30h\x00N\x73.",
        b")" + b"".join(b"\x94h" + bytes([n]) + b"\x86" for n in range(100)) + b".",
        named("fractions", "Fraction") + b"(\x8b" + struct.pack("<i", 100_000) + b"\x01" * 100_000
        + b"K\x07tR.",
        named("fractions", "Fraction") + b"(V1e9999999999\ntR.",
        named("decimal", "Decimal") + b"(\x8b" + struct.pack("<i", 100_000) + b"\x01" * 100_000
        + b"tR.",
        named("decimal", "Decimal") + b"((K\x00)K\x00ttR.",
        named("collections", "OrderedDict") + b"(](K\x01K\x02\x86etR.",
        NAMED_ROW + b"(N](K\x01K\x02eK\x00tR.",
        NAMED_ROW + b"(](V\neN)K\x00tR.",
    ],
)  # fmt: skip
def test_attacks_are_refused(pickled: bytes) -> None:
    """Quickly, and with our error."""
    with pytest.raises(SerializationError):
        load_safe(b"\x80\x05" + pickled)


def test_nothing_of_ours_was_changed() -> None:
    """The attacks tried."""
    assert Row(1)[0] == 1
    assert RowKind(0).value == 0


def test_keys_of_equal_hashes_do_not_take_ages() -> None:
    """In one portion and in many."""
    keys = [n * (2**61 - 1) for n in range(1, 5000)]
    entries = dict.fromkeys(keys, Decimal(1))
    with pytest.raises(SerializationError, match="the same hash"):
        load_safe(pickle.dumps(entries, 5))
    with pytest.raises(SerializationError, match="the same hash"):
        load_safe(pickle.dumps(set(keys), 5))
    with pytest.raises(SerializationError, match="the same hash"):
        load_safe(pickle.dumps(frozenset(keys), 5))


def test_rows_within_rows_do_not_take_ages() -> None:
    """Twice the row before, sixty times, as the key of a dict."""
    row = NAMED_ROW + b"(N"
    lists = b"".join(b"h" + bytes([n]) + b"0" + row + b"](h" + bytes([n]) + b"h" + bytes([n])
                     + b"eK\x00tR" + b"\x94" for n in range(60))  # fmt: skip
    tuples = lists.replace(b"](", b"(").replace(b"eK", b"tK")
    for nested in (lists, tuples):
        with pytest.raises(SerializationError):
            load_safe(b"\x80\x05" + row + b")K\x00tR\x94" + nested + b"}" + b"h\x3cK\x00s.")


def test_ordered_entries_of_equal_hashes_do_not_take_ages() -> None:
    """However they come in."""
    pairs = [(n * (2**61 - 1), 0) for n in range(1, 5000)]
    for pickled in (pickle.dumps(OrderedDict(pairs), 5), pickle.dumps(Ordered(pairs), 5)):
        with pytest.raises(SerializationError):
            load_safe(pickled)


class Ordered:
    """Is read as an `OrderedDict` that is made in one call."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        self._pairs = pairs

    def __reduce__(self) -> Any:
        return OrderedDict, (self._pairs,)


@settings(max_examples=30)
@given(st.dictionaries(st.text(), st.integers()), st.tuples(st.integers(), st.text()))
def test_what_is_made_by_calls_comes_back(entries: dict[str, int], values: Any) -> None:
    """In the forms that are written."""
    row = Row(a=values[0], b=Row(*values))
    for value in (OrderedDict(entries), row, Row.of_kind(RowKind.DELETE, *values)):
        assert exactly(load_safe(dump_safe(value)), value)
        assert exactly(load_safe(pickle.dumps(value, 4)), value)
