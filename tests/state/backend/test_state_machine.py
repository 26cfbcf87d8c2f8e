"""Every state type on both backends, with aborts, worker swaps, rescaling, against plain dicts."""

from __future__ import annotations

import copy
import shutil
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millrace.common.config.configuration import Configuration
from millrace.common.functions import AggregateFunction
from millrace.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.common.state.state_ttl import StateTtlConfig
from millrace.common.time import Time
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.operator_state import OperatorStates
from millrace.runtime.timers import TimerQueue
from millrace.state.backend.rocksdb import EmbeddedRocksDBStateBackend
from millrace.state.backend.state_backend import HashMapStateBackend, StateBackend, SubtaskId
from millrace.state.key_groups import KeyMemo, key_group_range
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import EMPTY, StateMissError, SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE, PANES

MAX_PARALLELISM = 8
TTL_MS = 10
KEYS = ["a", "b", 3, ("t", 4)]
keys = st.sampled_from(KEYS)
fields = st.sampled_from(["x", "y", 7])
values = st.one_of(st.integers(0, 9), st.just((1, "z")), st.lists(st.integers(0, 3), max_size=2))


class Add(AggregateFunction):
    def create_accumulator(self):
        return [0, 0]

    def add(self, value, accumulator):
        accumulator[0] += 1
        accumulator[1] += value
        return accumulator

    def get_result(self, accumulator):
        return tuple(accumulator)

    def merge(self, a, b):
        return [a[0] + b[0], a[1] + b[1]]


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


class Instance:
    """One subtask in one worker, as an operator sees its state."""

    def __init__(self, backend: StateBackend, subtask: int, clock) -> None:
        subtask_id = SubtaskId("job", "run", "stage", subtask)
        self.state = SubtaskState(backend=backend.create_keyed_state_backend(subtask_id))
        self.subtask = subtask
        self._clock = clock
        self.bind()

    def bind(self) -> None:
        """What an operator does when it is opened."""
        self.current = CurrentKey()
        states = KeyedStates(self.state, "op", self.current, clock=self._clock)
        ttl = StateTtlConfig.new_builder(Time.milliseconds(TTL_MS)).build()
        expiring = ValueStateDescriptor("ttl-value")
        expiring.enable_time_to_live(ttl)
        expiring_map = MapStateDescriptor("ttl-map")
        expiring_map.enable_time_to_live(ttl)
        self.states = states
        self.value = states.get_state(ValueStateDescriptor("value"))
        self.list = states.get_list_state(ListStateDescriptor("list"))
        self.map = states.get_map_state(MapStateDescriptor("map"))
        self.reduce = states.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b))
        self.mean = states.get_aggregating_state(AggregatingStateDescriptor("mean", Add()))
        self.ttl_value = states.get_state(expiring)
        self.ttl_map = states.get_map_state(expiring_map)
        self.panes = self.state.table(TableId("op", "@panes"), PANES)
        self.timers = TimerQueue(self.state, TableId("op", "@event-timers"), EVENT_TIMER_QUEUE)
        operator = OperatorStates(self.state, "op", self.subtask)
        self.broadcast = operator.get_broadcast_state(MapStateDescriptor("rules"))
        self.offsets = operator.get_list_state(ListStateDescriptor("offsets"))
        self.timers.refresh()

    def seen(self) -> dict[str, Any]:
        """All that an operator can see."""
        found: dict[str, Any] = {"broadcast": dict(self.broadcast.items())}
        found["offsets"] = list(self.offsets.get())
        for key in KEYS:
            self.current.key = key
            found["value", key] = self.value.value()
            found["list", key] = list(self.list.get() or ())
            found["map", key] = dict(self.map.items())
            found["sum", key] = self.reduce.get()
            found["mean", key] = self.mean.get()
            found["ttl-value", key] = self.ttl_value.value()
            found["ttl-map", key] = dict(self.ttl_map.items())
        for pane, entries in self.panes.data.items():
            found.update({("pane", pane, key): value for key, value in entries.items()})
        for at, due in self.state.tables[TableId("op", "@event-timers")].data.items():
            found.update({("timer", at, key): True for key, _ in due})
        return found


class StateMachine(RuleBasedStateMachine):
    """The model is a dict of what should be seen; expired entries are kept with their time."""

    def backend(self, directory: str) -> StateBackend:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="millrace-test-")
        self.chosen = self.backend(self.directory)
        self.now = 0
        self.instances: list[Instance] = []
        self.worker = self.opened()
        self.spare = self.opened()
        self.model: dict[str, dict[Any, Any]] = {}
        self.accepted: dict[str, dict[Any, Any]] = {}
        self.deltas: list[StateDelta] = []
        self.version, self.number = EMPTY, 0
        self.waiting: tuple[StateDelta | None, dict[str, dict[Any, Any]]] | None = None

    def opened(self, subtask: int = 0) -> Instance:
        instance = Instance(self.chosen, subtask, lambda: self.now)
        self.instances.append(instance)
        return instance

    def teardown(self) -> None:
        for instance in self.instances:
            instance.state.close()
        shutil.rmtree(self.directory)

    def at(self, name: str) -> dict[Any, Any]:
        return self.model.setdefault(name, {})

    # -- what a function does ----------------------------------------------------------

    @rule(key=keys, value=values)
    def set_value(self, key: Any, value: Any) -> None:
        self.worker.current.key = key
        self.worker.value.update(copy.deepcopy(value))
        self.worker.ttl_value.update(copy.deepcopy(value))
        self.at("value")[key] = value
        self.at("ttl-value")[key] = (copy.deepcopy(value), self.now)

    @rule(key=keys)
    def change_value_in_place(self, key: Any) -> None:
        self.worker.current.key = key
        for value in (self.worker.value.value(), self.at("value").get(key)):
            if isinstance(value, list):
                value.append(8)

    @rule(key=keys, value=values)
    def append(self, key: Any, value: Any) -> None:
        self.worker.current.key = key
        self.worker.list.add(copy.deepcopy(value))
        self.at("list").setdefault(key, []).append(value)

    @rule(key=keys, field=fields, value=values)
    def put(self, key: Any, field: Any, value: Any) -> None:
        self.worker.current.key = key
        self.worker.map.put(field, copy.deepcopy(value))
        self.worker.ttl_map.put(field, copy.deepcopy(value))
        self.at("map").setdefault(key, {})[field] = value
        self.at("ttl-map").setdefault(key, {})[field] = (value, self.now)

    @rule(key=keys, field=fields)
    def remove(self, key: Any, field: Any) -> None:
        self.worker.current.key = key
        self.worker.map.remove(field)
        self.at("map").setdefault(key, {}).pop(field, None)

    @rule(key=keys, value=st.integers(1, 5))
    def add(self, key: Any, value: int) -> None:
        self.worker.current.key = key
        self.worker.reduce.add(value)
        self.worker.mean.add(value)
        self.at("sum")[key] = self.at("sum").get(key, 0) + value
        count, total = self.at("mean").get(key, (0, 0))
        self.at("mean")[key] = (count + 1, total + value)

    @rule(key=keys)
    def clear(self, key: Any) -> None:
        worker = self.worker
        worker.current.key = key
        for name, state in {
            "value": worker.value, "list": worker.list, "map": worker.map, "sum": worker.reduce,
            "mean": worker.mean, "ttl-value": worker.ttl_value, "ttl-map": worker.ttl_map,
        }.items():  # fmt: skip
            state.clear()
            self.at(name).pop(key, None)

    @rule(batch=st.lists(keys, max_size=4))
    def expect(self, batch: list[Any]) -> None:
        self.worker.states.prefetch(batch)

    @rule(pane=st.integers(0, 2), found=st.lists(st.tuples(keys, values), max_size=4))
    def fill_pane(self, pane: int, found: list[tuple[Any, Any]]) -> None:
        self.worker.panes.prefetch_inner(pane, [key for key, _ in found])
        for key, value in found:
            self.worker.panes.put(pane, key, copy.deepcopy(value))
            self.at("pane")[pane, key] = value

    @rule(pane=st.integers(0, 2))
    def fire_pane(self, pane: int) -> None:
        found = dict(self.worker.panes.drop(pane).items())
        gone = [place for place in self.at("pane") if place[0] == pane]
        assert found == {place[1]: self.at("pane").pop(place) for place in gone}

    @rule(key=keys, at=st.integers(0, 30))
    def set_timer(self, key: Any, at: int) -> None:
        self.worker.timers.register(at, key)
        self.at("timer")[at, key] = True

    @rule(until=st.integers(0, 30))
    def fire_timers(self, until: int) -> None:
        fired = set()
        self.worker.timers.fire(until, lambda at, key, _: fired.add((at, key)))
        due = {place for place in self.at("timer") if place[0] <= until}
        assert fired == due
        for place in due:
            del self.at("timer")[place]

    @rule(field=fields, value=values)
    def broadcast(self, field: Any, value: Any) -> None:
        self.worker.broadcast.put(field, copy.deepcopy(value))
        self.at("broadcast")[field] = value

    @rule(offsets=st.lists(st.integers(0, 5), max_size=3))
    def set_offsets(self, offsets: list[int]) -> None:
        self.worker.offsets.update(offsets)
        self.model["offsets"] = dict(enumerate(offsets))

    # -- what the engine does ----------------------------------------------------------

    @rule()
    def begin_next_epoch(self) -> None:
        """The open epoch ends and waits, unless another one waits."""
        if self.waiting is not None:
            return
        self.number += 1
        delta = self.worker.state.snapshot(self.number, f"v{self.number}")
        self.worker.state.begin_next()
        self.waiting = (delta, copy.deepcopy(self.model))

    def accept_waiting(self) -> None:
        assert self.waiting is not None
        delta, model = self.waiting
        self.waiting = None
        if delta is not None:
            self.deltas = live([*self.deltas, delta])
            self.version, self.accepted = delta.version, model

    @rule()
    def commit(self) -> None:
        """The waiting epoch is accepted; the open one goes on."""
        if self.waiting is not None:
            self.accept_waiting()
            self.worker.state.commit()

    @rule(counts=st.booleans())
    def undo(self, counts: bool) -> None:
        """The open epoch is undone; the waiting one counts, or is undone, too."""
        if self.waiting is not None and counts:
            self.accept_waiting()
        self.waiting = None
        self.worker.state.align(self.version, self.deltas[-3:], inline)
        self.model = copy.deepcopy(self.accepted)
        self.worker.bind()

    @rule(counts=st.booleans(), passed=st.integers(0, 6))
    def end_epoch(self, counts: bool, passed: int) -> None:
        self.commit()
        self.number += 1
        delta = self.worker.state.snapshot(self.number, f"v{self.number}")
        if counts and delta is not None:
            self.deltas = live([*self.deltas, delta])
            self.version, self.accepted = delta.version, copy.deepcopy(self.model)
        self.worker.state.align(self.version, self.deltas[-3:], inline)
        if not counts or delta is None:
            self.model = copy.deepcopy(self.accepted)
            self.worker.bind()
        self.now += passed

    @rule()
    def swap_workers(self) -> None:
        """Another worker takes over; the open epoch and the waiting one are lost."""
        self.worker.state.roll_back()
        self.waiting = None
        self.worker, self.spare = self.spare, self.worker
        try:
            self.worker.state.align(self.version, self.deltas[-3:], inline)
        except StateMissError:
            self.worker.state.restore(self.version, self.deltas, inline)
        self.worker.bind()
        self.model = copy.deepcopy(self.accepted)

    @rule(parallelism=st.integers(2, 4))
    def rescale(self, parallelism: int) -> None:
        """Each key is in one place; what belongs to no key is everywhere."""
        whole = self.opened()
        whole.state.restore(self.version, self.deltas, inline)
        whole.bind()
        expected, found = whole.seen(), {}
        for subtask in range(parallelism):
            part = self.opened(subtask)
            own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
            keep = KeyMemo(MAX_PARALLELISM, own.__contains__).__getitem__
            part.state.take(self.deltas, inline, lambda name, kind: True, keep)
            part.state.adopt("rescaled")
            part.bind()
            for place, value in part.seen().items():
                if value and isinstance(place, tuple):
                    assert place not in found
                    found[place] = value
                elif not isinstance(place, tuple):
                    assert value == expected[place]
        assert found == {p: v for p, v in expected.items() if v and isinstance(p, tuple)}

    @invariant()
    def what_is_seen(self) -> None:
        if not hasattr(self, "model"):
            return
        assert self.worker.seen() == self.expected()

    def expected(self) -> dict[Any, Any]:
        model = self.model
        found: dict[Any, Any] = {"broadcast": model.get("broadcast", {})}
        found["offsets"] = list(model.get("offsets", {}).values())
        for key in KEYS:
            for name in ("value", "sum", "mean"):
                found[name, key] = model.get(name, {}).get(key)
            found["list", key] = model.get("list", {}).get(key, [])
            found["map", key] = model.get("map", {}).get(key, {})
            stamped = model.get("ttl-value", {}).get(key)
            found["ttl-value", key] = stamped[0] if stamped and self.lives(stamped) else None
            entries = model.get("ttl-map", {}).get(key, {})
            found["ttl-map", key] = {f: e[0] for f, e in entries.items() if self.lives(e)}
        found.update({("pane", *place): v for place, v in model.get("pane", {}).items()})
        found.update({("timer", *place): True for place in model.get("timer", {})})
        return found

    def lives(self, stamped: tuple[Any, int]) -> bool:
        return stamped[1] + TTL_MS > self.now


class HashMap(StateMachine):
    def backend(self, directory: str) -> StateBackend:
        return HashMapStateBackend()


class RocksDB(StateMachine):
    """Without memory: whatever an epoch leaves is read again from the disk."""

    def backend(self, directory: str) -> StateBackend:
        options = {
            "state.backend.rocksdb.localdir": directory,
            "millrace.state.rocksdb.cache-size": "0 bytes",
        }
        return EmbeddedRocksDBStateBackend().configured(Configuration(options))


SETTINGS = settings(
    max_examples=20,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestHashMap = HashMap.TestCase
TestHashMap.settings = SETTINGS
TestRocksDB = pytest.mark.skipif(
    not pytest.importorskip("rocksdict"), reason="rocksdict is not installed"
)(RocksDB.TestCase)
TestRocksDB.settings = SETTINGS
