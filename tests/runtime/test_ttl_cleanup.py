"""How expired state that nobody asks for goes (Flink docs, Cleanup of Expired State)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration, Time, Types
from millrace.common.errors import JobCancelledError, JobExecutionError, StateError
from millrace.common.functions import KeyedProcessFunction
from millrace.common.state.state_ttl import StateTtlConfigBuilder
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.runtime.ttl_cleanup import Cleanup, Lifetime
from millrace.state.backend.spilling_backend import NewStores, SpillingKeyedStateBackend
from millrace.state.flat_table import FlatTable
from millrace.state.list_table import ListTable
from millrace.state.nested_table import NestedTable
from millrace.state.store import SubtaskState
from millrace.testing import OperatorHarness, operator_harness, run_local
from millrace.testing.sorted_store import SortedStore

TTL = 10
Build = Callable[[StateTtlConfigBuilder], StateTtlConfigBuilder]


class Remember(KeyedProcessFunction):
    """Puts each record into a value, a list and a map; a record of None does nothing."""

    def __init__(self, build: Build) -> None:
        self.ttl = build(StateTtlConfig.new_builder(Time.milliseconds(TTL))).build()

    def open(self, runtime_context):
        value = ValueStateDescriptor("value", Types.INT())
        listed = ListStateDescriptor("list", Types.INT())
        mapped = MapStateDescriptor("map", Types.INT(), Types.INT())
        for descriptor in (value, listed, mapped):
            descriptor.enable_time_to_live(self.ttl)
        self.value = runtime_context.get_state(value)
        self.list = runtime_context.get_list_state(listed)
        self.map = runtime_context.get_map_state(mapped)

    def process_element(self, value, ctx):
        if value[1] is not None:
            self.value.update(value[1])
            self.list.add(value[1])
            self.map.put(value[1], value[1])
        return ()


def harness(build: Build) -> OperatorHarness:
    return OperatorHarness(Remember(build), key_by=lambda value: value[0])


def off(builder: StateTtlConfigBuilder) -> StateTtlConfigBuilder:
    return builder.disable_cleanup_in_background()


def test_copies_are_without_what_has_expired() -> None:
    """A full snapshot, and each part of a compaction; what the worker has stays."""
    with harness(lambda builder: off(builder).cleanup_full_snapshot()) as made:
        for key in range(5):
            made.process_element((key, 1))
        made.set_processing_time(TTL - 1)
        made.process_element((0, 2))
        made.set_processing_time(TTL)
        for key in range(100, 150):
            made.process_element((key, 1))
        snapshot = made.snapshot()
        assert made.entries() == 3 * 55 + 1
        # key 0 has a value, a list of what is left and one map entry
        assert made.restored(snapshot).entries() == 3 * 51


def test_copies_have_what_is_about_to_expire() -> None:
    """To the last millisecond."""
    with harness(lambda builder: builder) as made:
        for key in range(5):
            made.process_element((key, 1))
        made.set_processing_time(TTL - 1)
        for key in range(100, 150):
            made.process_element((key, 1))
        assert made.restored(made.snapshot()).entries() == 3 * 55


def test_without_any_cleanup_copies_have_it_all() -> None:
    """As was asked for."""
    with harness(off) as made:
        for key in range(5):
            made.process_element((key, 1))
        made.set_processing_time(TTL)
        for key in range(100, 150):
            made.process_element((key, 1))
        snapshot = made.snapshot()
        assert made.entries() == made.restored(snapshot).entries() == 3 * 55


def test_a_compaction_forgets() -> None:
    """When a pass is through, nothing expired is left in the deltas, although each was small."""
    with harness(lambda builder: off(builder).cleanup_full_snapshot()) as made:
        for key in range(400):
            made.process_element((key, 1))
        made.snapshot()
        made.set_processing_time(TTL)
        for key in range(1000, 1150):
            made.process_element((key, 1))
            snapshot = made.snapshot()
        assert made.entries() == 3 * 550
        assert made.restored(snapshot).entries() == 3 * 150


@pytest.mark.parametrize("per_record", [False, True])
def test_records_may_count_as_accesses(per_record: bool) -> None:
    """Even if they do not touch the state."""

    def build(builder: StateTtlConfigBuilder) -> StateTtlConfigBuilder:
        return off(builder).cleanup_incrementally(4, per_record)

    with harness(build) as made:
        for key in range(40):
            made.process_element((key, 1))
        made.set_processing_time(TTL)
        for _ in range(10):
            made.process_element(("other", None))
        made.snapshot()
        assert made.entries() == (0 if per_record else 3 * 40)


class Elsewhere(dict[Any, Any]):
    """Data that is not in memory, as far as anyone can tell."""


def now_is(time: int) -> Lifetime:
    config = StateTtlConfig.new_builder(Time.milliseconds(TTL)).build()
    return Lifetime.of(config, lambda: time)


def expired(kind: str, count: int) -> Any:
    """A table on disk with ``count`` keys of which every second has something that expired."""
    table: Any = {"flat": FlatTable(), "list": ListTable(), "map": NestedTable(lambda o, i: o)}[
        kind
    ]
    table.data = Elsewhere()
    for key in range(count):
        stamp = 1 if key % 2 else TTL
        if kind == "flat":
            table.put(key, ("v", stamp))
        elif kind == "list":
            table.put(key, [("v", stamp), ("w", TTL)])
        else:
            table.put(key, "a", ("v", stamp))
            table.put(key, "b", ("w", TTL))
    table.seal()
    return table


@pytest.mark.parametrize("kind", ["flat", "list", "map"])
def test_tables_on_disk_are_gone_through(kind: str) -> None:
    """At the end of epochs that change something, as far as the incremental compaction goes."""
    table = expired(kind, 100)
    swept: list[Any] = []
    cleanup = Cleanup(table, now_is(TTL + 1), swept.append)
    cleanup.accessed(1000)
    cleanup.end_epoch(1000)
    assert swept == []
    touch = (200, "a", ("new", TTL)) if kind == "map" else (200, ("new", TTL))
    table.put(*touch) if kind != "list" else table.append(*touch)
    for _ in range(6):
        cleanup.end_epoch(1)
    assert 0 < len(swept) <= 50
    for _ in range(6):
        cleanup.end_epoch(1)
    assert set(swept) == set(range(1, 100, 2))


def test_the_disk_is_cleaned_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, elements and entries go that nobody asks for."""
    stores: list[SortedStore] = []

    def opened() -> SortedStore:
        stores.append(SortedStore())
        return stores[-1]

    def on_disk(**arguments: Any) -> SubtaskState:
        backend = SpillingKeyedStateBackend(NewStores(opened), cache_bytes=0)
        return SubtaskState(backend=backend, **arguments)

    monkeypatch.setattr(operator_harness, "SubtaskState", on_disk)
    with harness(lambda builder: builder) as made:
        for key in range(60):
            made.process_element((key, 1))
        made.set_processing_time(TTL)
        for epoch in range(20):
            made.process_element((1000 + epoch, 1))
            made.snapshot()
        assert held(made) == 3 * 20
        assert held(made.restored(made.snapshot())) == 3 * 20
    assert len(stores) == 2


def held(made: OperatorHarness) -> int:
    """How many keys there are in all states; counted, where `entries` may guess."""
    tables: list[Any] = [table for name, table in made._state.tables.items() if "@" not in name]
    return sum(len(table.data) for table in tables)


def test_tables_on_disk_are_left_alone_if_told_so() -> None:
    """And what was set explicitly goes before what was switched off."""
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL)).disable_cleanup_in_background()
    for config, count in (
        (builder.build(), 0),
        (builder.cleanup_in_rocksdb_compact_filter(1000, Time.days(30)).build(), 5),
    ):
        table, swept = expired("flat", 10), []
        table.put(200, ("new", TTL))
        Cleanup(table, Lifetime.of(config, lambda: TTL + 1), swept.append).end_epoch(1)
        assert len(swept) == count


def test_much_is_gone_through_in_steps() -> None:
    """Nobody needs all of it at once."""
    table, swept = expired("flat", 20_000), []
    for key in range(20_000):
        table.touch(key)
    sizes: list[int] = []
    scan = table.scan

    def noted(cursor: Any, budget: int) -> Any:
        sizes.append(budget)
        return scan(cursor, budget)

    table.scan = noted
    Cleanup(table, now_is(TTL + 1), swept.append).end_epoch(1)
    assert len(swept) == 10_000
    assert max(sizes) < 5000


class Count(KeyedProcessFunction):
    """Counts, with a time to live or without."""

    def __init__(self, ttl: int | None) -> None:
        self.ttl = ttl

    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("count", Types.INT())
        if self.ttl is not None:
            config = StateTtlConfig.new_builder(Time.milliseconds(self.ttl)).build()
            descriptor.enable_time_to_live(config)
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value()


def run(directory: Path, ttl: int | None, stop: bool) -> None:
    with run_local(checkpoint_dir=directory, epoch_records=2, resume=not stop) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration())
        env.enable_checkpointing(0)
        numbers = env.from_collection(range(20)).uid("numbers")
        numbers.key_by(lambda n: n % 2).process(Count(ttl)).uid("count").print()
        client = env.build_client("job")
        cluster.listeners.append(lambda p: client.stop() if stop and p.epochs == 3 else None)
        client.run()
    client.result()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (None, 10_000, "state 'count' was written without a time to live.*leave out"),
        (10_000, None, "state 'count' was written with a time to live.*enable_time_to_live"),
    ],
)
def test_a_restore_must_expire_alike(
    tmp_path: Path, before: int | None, after: int | None, message: str
) -> None:
    """Flink: a StateMigrationException."""
    with pytest.raises(JobCancelledError):
        run(tmp_path, before, stop=True)
    with pytest.raises(JobExecutionError, match=message):
        run(tmp_path, after, stop=False)


@pytest.mark.parametrize(("ttl", "alive"), [(3, False), (100, True)])
def test_a_restore_may_change_the_time(ttl: int, alive: bool) -> None:
    """It is no part of the snapshot: what was written is judged by the new one."""
    with OperatorHarness(Count(TTL), key_by=lambda value: value) as made:
        made.process_element("k")
        snapshot = made.snapshot()
    other = OperatorHarness(Count(ttl), key_by=lambda value: value, processing_time=5)
    other._load([snapshot])
    other.process_element("k")
    assert other.output() == [2 if alive else 1]


def test_one_state_with_and_without_a_time() -> None:
    """A mistake of the program, not of a restore."""

    class Both(Count):
        def open(self, runtime_context):
            super().open(runtime_context)
            runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    with pytest.raises(StateError, match="declared twice, with a time to live and without"):
        OperatorHarness(Both(TTL), key_by=lambda value: value)
