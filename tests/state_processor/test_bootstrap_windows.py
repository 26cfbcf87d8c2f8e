"""Windows made of rows are those that a job would have: going on with them gives the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millrace.common import Time
from millrace.common.errors import StateError
from millrace.common.functions import AggregateFunction
from millrace.common.functions.key_selector import batch_keys
from millrace.common.time.watermark_strategy import TimestampAssigner
from millrace.common.types.batch import RowBatch
from millrace.datastream import ProcessWindowFunction
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import OperatorContext
from millrace.state.checkpoint.delta_file import DeltaLoader, read_index
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state_processor.bootstrap_task import BootstrapTarget, BootstrapTask
from millrace.state_processor.transformations import (
    BootstrapInput,
    KeyedOperatorTransformation,
    OneInputOperatorTransformation,
    StateBootstrapTransformation,
)
from millrace.state_processor.written_part import read_answer
from millrace.testing import OperatorHarness

ROWS = [(f"k{i % 5}", i, 700 * i) for i in range(30)]
END = 10**9


class Sum(AggregateFunction[Any, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, context.window().start, sorted(elements)


def add(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1], max(one[2], other[2])


CASES: dict[str, tuple[WindowAssigner[Any, Any], Callable[[Any], Any]]] = {
    "tumbling": (TumblingEventTimeWindows.of(Time.seconds(4)), lambda w: w.reduce(add)),
    "elements": (TumblingEventTimeWindows.of(Time.seconds(4)), lambda w: w.process(Elements())),
    "sliding": (
        SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(2)),
        lambda w: w.aggregate(Sum()),
    ),
    "sessions": (EventTimeSessionWindows.with_gap(Time.seconds(1)), lambda w: w.aggregate(Sum())),
    "late": (
        TumblingEventTimeWindows.of(Time.seconds(4)),
        lambda w: w.allowed_lateness(1_000).aggregate(Sum()),
    ),
    "evictor": (
        TumblingEventTimeWindows.of(Time.seconds(4)),
        lambda w: w.trigger(EventTimeTrigger()).evictor(CountEvictor.of(1)).process(Elements()),
    ),
    "merging": (
        EventTimeSessionWindows.with_gap(Time.seconds(4)),
        lambda w: w.trigger(EventTimeTrigger()).process(Elements()),
    ),
}


class Recorder:
    def __init__(self) -> None:
        self.values: list[Any] = []

    def emit(self, batch: RowBatch) -> None:
        self.values += batch.values

    def emit_watermark(self, timestamp: int) -> None:
        pass


def keyed() -> KeyedOperatorTransformation:
    rows = OneInputOperatorTransformation(BootstrapInput(None, tuple))
    return rows.assign_timestamps(lambda record: record[2]).key_by(0)


def states(made: StateBootstrapTransformation, directory: Path) -> dict[int, SubtaskState]:
    (directory / "shared").mkdir()
    target = BootstrapTarget("op", "op", 2, 128, str(directory), 0, 0)
    task = BootstrapTask(made, ("key", "n", "time"), target)
    batch = pa.RecordBatch.from_pylist([{"key": k, "n": n, "time": t} for k, n, t in ROWS])
    packets: dict[int, list[bytes]] = {}
    for subtask, packet in task.route(iter([batch])):
        packets.setdefault(subtask, []).append(packet)
    found = {}
    for subtask, arrived in packets.items():
        part = read_answer(task.take(subtask, iter(arrived)))
        assert part is not None
        ((_, _, delta),) = read_index(directory, part.file)
        found[subtask] = SubtaskState()
        found[subtask].restore("x", [delta], DeltaLoader(directory))
    return found


def gone_on(made: StateBootstrapTransformation, subtask: int, state: SubtaskState) -> list[Any]:
    operator, recorder = made.factory(), Recorder()
    context = OperatorContext("op", "op", subtask, 2, 128, state, lambda: 0)
    operator.setup(context, recorder, {})
    operator.open()
    operator.restore()
    operator.begin_epoch(EpochContext(1, 0))
    operator.advance_processing_time(0)
    operator.process_watermark(END)
    return recorder.values


@pytest.mark.parametrize("case", CASES)
def test_going_on_with_them(case: str, tmp_path: Path) -> None:
    """Nothing fired while they were made; at the end of time all of them do."""
    assigner, build = CASES[case]
    made: StateBootstrapTransformation = build(keyed().window(assigner))
    results = [
        value
        for subtask, state in states(made, tmp_path).items()
        for value in gone_on(made, subtask, state)
    ]
    harness = OperatorHarness(lambda stream: build(stream.key_by(0).window(assigner)))
    harness.process_elements(ROWS, [time for _, _, time in ROWS])
    harness.process_watermark(END)
    assert len(results) >= 5
    assert sorted(results) == sorted(harness.output())


def test_triggers_act_on_the_rows(tmp_path: Path) -> None:
    """A count that is full begins anew."""
    assigner = TumblingEventTimeWindows.of(Time.seconds(100))
    made = keyed().window(assigner).trigger(CountTrigger.of(6)).reduce(add)
    found = states(made, tmp_path)
    counts = [
        value
        for state in found.values()
        for value in state.tables[TableId("op", "@trigger/count")]
        .scan(None, 100)
        .table_delta["put"]
        .values()
    ]
    assert counts == []


class Assigner(TimestampAssigner[Any]):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        assert record_timestamp == -(2**63)
        return int(value[2])


def test_timestamps_are_assigned_in_several_ways() -> None:
    """By a function, a field, an assigner."""
    rows = OneInputOperatorTransformation(BootstrapInput(None))
    for assigner, record in ((Assigner(), ROWS[3]), ("time", {"time": 2_100})):
        given = rows.assign_timestamps(assigner)._rows.timestamps
        assert given is not None
        assert given(record) == 2_100
    with pytest.raises(StateError, match="takes a TimestampAssigner, a function or a field"):
        rows.assign_timestamps(3)  # type: ignore[arg-type]


def test_functions_of_another_kind_are_refused() -> None:
    """With what would do."""
    with pytest.raises(StateError, match="KeyedStateBootstrapFunction"):
        keyed().transform(Elements())  # type: ignore[arg-type]
    rows = OneInputOperatorTransformation(BootstrapInput(None, key_batch=batch_keys(0)))
    with pytest.raises(StateError, match="call key_by"):
        rows.transform(Elements())  # type: ignore[arg-type]
    with pytest.raises(StateError, match="parallelism must be 1 or more"):
        keyed().window(TumblingEventTimeWindows.of(1)).reduce(add).set_parallelism(0)
