"""What tasks do with rows, without Spark: routing by key, and state as the operator keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millrace.common import Row, Time, Types
from millrace.common.errors import UserFunctionError
from millrace.common.functions.key_selector import batch_keys
from millrace.common.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.state.checkpoint.delta_file import DeltaFile, DeltaLoader, read_index
from millrace.state.key_groups import key_group_of, subtask_of
from millrace.state.kinds.state_shape import KeyedStateEntry
from millrace.state.snapshot_entries import entries_of
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state_processor import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from millrace.state_processor.bootstrap_operators import (
    BroadcastBootstrap,
    KeyedBootstrap,
    ListBootstrap,
)
from millrace.state_processor.bootstrap_task import BootstrapTarget, BootstrapTask
from millrace.state_processor.transformations import BootstrapInput, StateBootstrapTransformation
from millrace.state_processor.written_part import read_answer

NAMES = ("user", "amount")
ROWS = [(f"user{i % 10}", i) for i in range(40)]
BATCH = pa.RecordBatch.from_pylist([dict(zip(NAMES, row, strict=True)) for row in ROWS])


class Totals(KeyedStateBootstrapFunction):
    """A value that expires, and timers."""

    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("total", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.total = runtime_context.get_state(descriptor)

    def process_element(self, value: Row, ctx: Any) -> None:
        assert value["user"] == ctx.get_current_key()
        self.total.update((self.total.value() or 0) + value["amount"])
        ctx.timer_service().register_event_time_timer(value["amount"])


class Refusing(KeyedStateBootstrapFunction):
    def process_element(self, value: Row, ctx: Any) -> None:
        raise ValueError(f"no {value['user']}")


class Spread(StateBootstrapFunction):
    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("all"))

    def snapshot_state(self, context: Any) -> None:
        self.state.add("end")

    def process_element(self, value: Row) -> None:
        self.state.add(value["amount"])


class Rules(BroadcastStateBootstrapFunction):
    def process_element(self, value: Row, ctx: Any) -> None:
        state = ctx.get_broadcast_state(MapStateDescriptor("rules"))
        state.put(value["user"], (value["amount"], ctx.current_processing_time()))


def keyed(function: KeyedStateBootstrapFunction) -> StateBootstrapTransformation:
    keys = batch_keys("user")
    return StateBootstrapTransformation(
        BootstrapInput(None, key_batch=keys), KeyedBootstrap(function, keys)
    )


def run(
    transformation: StateBootstrapTransformation, directory: Path, parallelism: int = 3
) -> dict[int, SubtaskState]:
    """What each subtask has in the end, read from the files."""
    (directory / "shared").mkdir()
    target = BootstrapTarget("op", "stage", parallelism, 128, str(directory), 4, 1_000)
    task = BootstrapTask(transformation, NAMES, target)
    packets: dict[int, list[bytes]] = {}
    for subtask, packet in task.route(iter([BATCH])):
        packets.setdefault(subtask, []).append(packet)
    states: dict[int, SubtaskState] = {}
    for subtask, found in packets.items():
        part = read_answer(task.take(subtask, iter(found)))
        if part is None:
            continue
        file = DeltaFile(part.file, tuple(read_index(directory, part.file)))
        for stage, index, delta in file.entries:
            assert (stage, delta.epoch, delta.version) == ("stage", 4, part.versions[index])
            states[index] = SubtaskState()
            states[index].restore("x", [delta], DeltaLoader(directory))
    return states


def entries(state: SubtaskState, name: str) -> list[KeyedStateEntry]:
    return list(entries_of(state, TableId("op", name)))


def test_keyed_state_and_timers(tmp_path: Path) -> None:
    """Every key is in the subtask that a job looks for it in."""
    states = run(keyed(Totals()), tmp_path)
    totals: dict[str, int] = {}
    for subtask, state in states.items():
        for entry in entries(state, "total"):
            assert subtask_of(key_group_of(entry.key, 128), 3, 128) == subtask
            assert entry.written == 1_000
            totals[entry.key] = entry.value
        timers = entries(state, "@event-timers")
        assert len(timers) == 4 * len(entries(state, "total"))
    assert totals == {f"user{i}": 60 + 4 * i for i in range(10)}


def test_lists_are_spread(tmp_path: Path) -> None:
    """Each subtask has a share of the rows; functions hear of the end."""
    states = run(
        StateBootstrapTransformation(BootstrapInput(None), ListBootstrap(Spread())), tmp_path
    )
    values = {s: [e.value for e in entries(state, "all")] for s, state in states.items()}
    assert [v[-1] for v in values.values()] == ["end"] * 3
    assert sorted(v for part in values.values() for v in part[:-1]) == list(range(40))
    assert all(len(part) > 10 for part in values.values())


def test_all_subtasks_have_broadcast_state(tmp_path: Path) -> None:
    """The same of it."""
    transformation = StateBootstrapTransformation(
        BootstrapInput(None), BroadcastBootstrap(Rules()), broadcast=True
    )
    states = run(transformation, tmp_path)
    assert sorted(states) == [0, 1, 2]
    for state in states.values():
        found = {entry.key: entry.value for entry in entries(state, "rules")}
        assert found == {f"user{i}": (30 + i, 1_000) for i in range(10)}


def test_records_and_timestamps(tmp_path: Path) -> None:
    """Rows become what the job's functions get."""
    seen: list[Any] = []

    class Watching(KeyedStateBootstrapFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            seen.append((value, ctx.get_current_key(), ctx.timestamp()))

    keys = batch_keys(0)
    rows = BootstrapInput(None, tuple, lambda record: 10 * record[1], keys)
    run_nothing = StateBootstrapTransformation(rows, KeyedBootstrap(Watching(), keys))
    assert run(run_nothing, tmp_path, parallelism=1) == {}
    assert seen[3] == (("user3", 3), "user3", 30)


def test_a_failing_function_is_told(tmp_path: Path) -> None:
    """With the record, without trying again."""
    with pytest.raises(UserFunctionError, match=r"(?s)'op' failed for the record .*user.*no user"):
        run(keyed(Refusing()), tmp_path)
