from __future__ import annotations

import datetime as dt
from collections import defaultdict, namedtuple
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Row
from millrace.common.errors import KeyTypeError
from millrace.common.functions.key_selector import batch_keys, resolve_key_selector
from millrace.common.types.batch import ImmutableRows, RowBatch
from millrace.runtime import exchange_output
from millrace.runtime.buffer import Buffer, BufferKind, ends_idle, sent_before
from millrace.runtime.exchange import create_exchange, keys_of_batch
from millrace.runtime.exchange_output import ExchangeOutput
from millrace.runtime.program import Exchange, JobEdge
from millrace.state.key_groups import key_group_of, subtask_of
from millrace.state.serialization.payload import decode
from millrace.state.serialization.pickles import dump_code

KINDS = list(Exchange)
MIN = -(2**63)
Point = namedtuple("Point", "x y")


def _modulo(key: int, targets: int) -> int:
    return key % targets


def exchange(
    kind: Exchange, targets: int = 3, buffer_records: int = 4, key: Any = 0, channel: int = 1
) -> ExchangeOutput:
    keys = batch_keys(key) if kind is Exchange.KEYED else None
    partitioner = b""
    if kind is Exchange.CUSTOM:
        keys, partitioner = (lambda values: list(range(len(values)))), dump_code(_modulo, str)
    selector = resolve_key_selector(key) if kind is Exchange.KEYED else None
    edge = JobEdge(
        5, 0, 1, kind, selector, keys, name="key_by after Source", partitioner=partitioner
    )
    made = create_exchange(edge, channel, 2, targets, buffer_records, 128)
    made.open(None)
    made.begin_epoch(0, attempt=9)
    return made


def sent(output: ExchangeOutput, idle: bool = False) -> list[Buffer]:
    """Ends the epoch; everything that was sent, through bytes."""
    output.end_epoch(idle)
    return [Buffer.unpack(buffer.pack()) for buffer in output.full]


def received(buffers: list[Buffer]) -> dict[int, list[tuple[Any, int | None]]]:
    """Per target: (value, timestamp) in the order of the sequence numbers."""
    arrived: dict[int, list[tuple[Any, int | None]]] = defaultdict(list)
    for buffer in sorted(buffers, key=lambda b: b.sequence):
        if buffer.kind == BufferKind.RECORDS:
            values, timestamps = decode(buffer.payload)
            arrived[buffer.target] += zip(values, timestamps or [None] * len(values), strict=True)
    return arrived


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=9), st.booleans()), max_size=6),
)
def test_nothing_is_lost_and_the_order_per_key_stays(kind, batches) -> None:
    """Batches with and without timestamps, in every kind of exchange and buffers of four."""
    output = exchange(kind)
    inputs = []
    serial = 0
    for keys, timed in batches:
        values = []
        for key in keys:
            values.append((key, serial))
            serial += 1
        times = [number + 1000 for _, number in values] if timed else None
        output.emit(RowBatch(values, times))
        inputs += zip(values, times or [None] * len(values), strict=True)
    arrived = received(sent(output))
    if kind is Exchange.BROADCAST:
        assert all(arrived[target] == inputs for target in range(3))
        return
    assert sorted(pair for pairs in arrived.values() for pair in pairs) == sorted(inputs)
    for pairs in arrived.values():
        serials = [serial for (_, serial), _ in pairs]
        assert serials == sorted(serials)
    if kind is Exchange.FORWARD:
        assert set(arrived) <= {1}
    if kind is Exchange.KEYED:
        for target, pairs in arrived.items():
            for (key, _), _ in pairs:
                assert subtask_of(key_group_of(key, 128), 3, 128) == target


def test_rebalance_deals_out_evenly() -> None:
    output = exchange(Exchange.REBALANCE)
    for size in (1, 5, 1, 2, 6):
        output.emit(RowBatch(list(range(size))))
    assert {target: len(pairs) for target, pairs in received(sent(output)).items()} == {
        0: 5, 1: 5, 2: 5,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Exchange.SHUFFLE, Exchange.REBALANCE])
def test_a_repeated_epoch_spreads_alike(kind) -> None:
    first, second = exchange(kind), exchange(kind)
    second.emit(RowBatch(["aborted"]))
    second.begin_epoch(0, attempt=9)
    for output in (first, second):
        output.emit(RowBatch(list(range(50))))
    assert sent(first) == sent(second)


def test_shuffle_uses_all_targets() -> None:
    output = exchange(Exchange.SHUFFLE)
    output.emit(RowBatch(list(range(100)), list(range(100))))
    arrived = received(sent(output))
    assert set(arrived) == {0, 1, 2}
    assert all(value == time for pairs in arrived.values() for value, time in pairs)


def test_each_target_gets_numbered_buffers_and_an_end() -> None:
    output = exchange(Exchange.REBALANCE, targets=2, buffer_records=3)
    output.emit(RowBatch(list(range(10))))
    buffers = sent(output)
    for target in range(2):
        *records, end = [buffer for buffer in buffers if buffer.target == target]
        assert [buffer.sequence for buffer in records] == list(range(len(records)))
        assert (end.kind, sent_before(end, 0)) == (BufferKind.END, len(records))
    assert {buffer.attempt for buffer in buffers} == {9}
    assert {(buffer.edge, buffer.channel) for buffer in buffers} == {(5, 1)}


@pytest.mark.parametrize("idle", [True, False])
def test_the_end_tells_the_status(idle: bool) -> None:
    buffers = sent(exchange(Exchange.FORWARD), idle)
    assert [ends_idle(b) for b in buffers] == [idle] * 3


def test_one_end_speaks_to_all_the_subtasks_of_a_task() -> None:
    output = exchange(Exchange.REBALANCE, targets=5, buffer_records=2)
    output.tasks = 2
    output.emit(RowBatch(list(range(13))))
    buffers = sent(output)
    ends = [buffer for buffer in buffers if buffer.kind == BufferKind.END]
    assert [end.target for end in ends] == [0, 1]
    for target in range(5):
        records = [b for b in buffers if b.kind != BufferKind.END and b.target == target]
        assert sent_before(ends[target % 2], target // 2) == len(records)


def test_a_watermark_goes_with_the_next_buffer_never_before_its_records() -> None:
    output = exchange(Exchange.FORWARD, targets=2, buffer_records=2)
    output.emit(RowBatch(["a", "b"]))
    output.emit_watermark(10)
    output.emit(RowBatch(["c"]))
    output.emit_watermark(20)
    mine = [buffer for buffer in sent(output) if buffer.target == 1]
    assert [buffer.watermark for buffer in mine] == [MIN, 20, 20]


def test_an_aborted_epochs_watermark_is_not_sent_again() -> None:
    output = exchange(Exchange.FORWARD)
    output.emit_watermark(100)
    output.begin_epoch(0, attempt=10)
    output.emit(RowBatch(["a"]))
    assert {buffer.watermark for buffer in sent(output)} == {MIN}


def test_records_without_times_flush_those_with() -> None:
    output = exchange(Exchange.FORWARD, buffer_records=100)
    output.emit(RowBatch(["a"], [1]))
    output.emit(RowBatch(["b"]))
    output.emit(RowBatch(["c"], [3]))
    assert received(sent(output))[1] == [("a", 1), ("b", None), ("c", 3)]


VALUES = [
    np.float32(1.5), np.int64(7), np.bool_(True), np.datetime64("2020-01-01"), bytearray(b"xy"),
    b"xy", memoryview(b"xy").tobytes(), Row(a=1, b=[2]), Point(1, 2), Decimal("1.10"),
    dt.datetime(2020, 1, 1, tzinfo=dt.UTC), {1, 2}, frozenset({1}), {"a": [1, (2, None)]}, 2**80,
    float("inf"), "\ud800", (), [np.int32(1), (bytearray(b"z"),)],
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_of_every_type_arrive_unchanged(kind, value) -> None:
    output = exchange(kind, key=lambda record: "k")
    output.emit(RowBatch([value, 1, value], [1, 2, 3]))
    pairs = [pair for pairs in received(sent(output)).values() for pair in pairs]
    found = [got for got, time in pairs if time != 2]
    copies = 3 if kind is Exchange.BROADCAST else 1
    assert len(found) == 2 * copies
    for got in found:
        assert type(got) is type(value)
        assert got == value
    nested = [got for got in found if isinstance(got, list)]
    assert all(type(got[0]) is np.int32 and type(got[1][0]) is bytearray for got in nested)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_arrive_unchanged(kind) -> None:
    output = exchange(kind, key=lambda record: "k")
    output.emit(RowBatch([np.arange(3), np.array([[1.0]])]))
    pairs = [pair for pairs in received(sent(output)).values() for pair in pairs]
    assert all(isinstance(value, np.ndarray) for value, _ in pairs)


@pytest.mark.parametrize("timestamps", [None, [1]])
@pytest.mark.parametrize(
    ("key", "name"),
    [
        ({}, "dict"), ({1}, "set"), (bytearray(b"a"), "bytearray"),
        (float("nan"), "NaN"), (object(), "object"), (np.arange(2), "numpy.ndarray"),
        (("a", {1}), "tuple"), (lambda: 0, "function"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_keys_without_a_stable_encoding_are_refused_by_name(key, name, timestamps) -> None:
    output = exchange(Exchange.KEYED, key=lambda record: record)
    with pytest.raises(KeyTypeError, match=name):
        output.emit(RowBatch([key], timestamps))


def test_equal_keys_go_to_the_same_subtask() -> None:
    groups = [(1, 1.0, True, Decimal(1), np.int8(1)), ("a", np.str_("a")), ((1, 2), Point(1, 2))]
    for equal in groups:
        targets = set()
        for key in equal:
            output = exchange(Exchange.KEYED, key=lambda record: record)
            output.emit(RowBatch([key]))
            targets |= set(received(sent(output)))
        assert len(targets) == 1


def test_idleness_is_told_again_after_records() -> None:
    """Records make the channel active at the one target that gets them."""
    output = exchange(Exchange.KEYED, targets=2)
    output.send_status(idle=True)
    output.send_status(idle=True)
    output.emit(RowBatch([(1, "a")]))
    output.flush()
    output.send_status(idle=True)
    kinds = [buffer.kind for buffer in output.full]
    told = [BufferKind.STATUS] * 2
    assert kinds == [*told, BufferKind.RECORDS, *told]


def test_big_rows_are_sent_in_parts_and_the_watermark_with_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange_output, "_MOST_BYTES", 500)
    made = exchange(Exchange.FORWARD, buffer_records=100)
    values = [f"{n}" * (400 if n == 3 else 10) for n in range(10)]
    made.emit(RowBatch(values, list(range(10))))
    made.emit_watermark(7)
    buffers = [buffer for buffer in sent(made) if buffer.kind == BufferKind.RECORDS]
    assert [value for value, _ in received(buffers)[1]] == values
    assert len(buffers) > 1
    assert all(len(buffer.payload) <= 500 or buffer.size == 1 for buffer in buffers)
    assert [buffer.watermark for buffer in buffers] == [MIN] * (len(buffers) - 1) + [7]
    assert [buffer.sequence for buffer in buffers] == list(range(len(buffers)))


def test_records_for_the_same_task_are_handed_over() -> None:
    """Not encoded, unless somebody could change them; and the sender keeps its lists."""
    output = exchange(Exchange.BROADCAST, targets=4, buffer_records=2, channel=1)
    output.tasks, output.hands_over = 2, True
    output.emit(RowBatch([1, (2, "b")], [10, 20]))
    output.emit(RowBatch([[3], [4]], [30, 40]))
    here = [buffer for buffer in output.full if buffer.target in (1, 3)]
    others = [buffer for buffer in output.full if buffer.target in (0, 2)]
    assert [buffer.batch is not None for buffer in here] == [True, True, False, False]
    for buffer in here[:2]:
        assert type(buffer.batch) is ImmutableRows
        assert (buffer.batch.values, buffer.batch.timestamps) == ([1, (2, "b")], [10, 20])
        assert (buffer.size, buffer.watermark) == (2, MIN)
    assert here[0].batch is not here[1].batch
    assert not any(buffer.batch for buffer in others)
    assert [buffer.sequence for buffer in here] == [0, 0, 1, 1]
    assert output.records == 16


def test_without_resident_tasks_everything_is_encoded() -> None:
    output = exchange(Exchange.FORWARD, targets=2, channel=1)
    output.emit(RowBatch([1], None))
    output.flush()
    assert [buffer.batch for buffer in output.full] == [None]


def test_an_error_of_a_key_function_is_told_once() -> None:
    """It is called once more with the failing record alone, which is no error during an error."""
    with pytest.raises(ZeroDivisionError) as failed:
        keys_of_batch(lambda values: [1 // value for value in values], [2, 0, 3])
    assert failed.value.__context__ is None
    assert failed.value.__cause__ is None


def test_an_error_of_a_key_function_that_does_not_come_again_is_raised() -> None:
    errors = iter([ValueError("once")])

    def keys_of(values: list[int]) -> list[int]:
        for error in errors:
            raise error
        return values

    with pytest.raises(ValueError, match="once"):
        keys_of_batch(keys_of, [1])
