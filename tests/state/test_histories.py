"""Random histories: workers take turns, epochs are aborted, drivers die, files are packed.

Whatever happens, the state is what a plain dict would hold.
"""

from __future__ import annotations

import contextlib
import copy
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state import incremental_compaction, nested_table
from millrace.state.checkpoint import packing
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.segment import write_segment
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import EMPTY, StateMissError, SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, LIST, MAP, PANES

Content = dict[str, dict[Any, Any]]

KINDS = {
    TableId("op", "value"): FLAT,
    TableId("op", "list"): LIST,
    TableId("op", "map"): MAP,
    TableId("op", "panes"): PANES,
}
STAGE = "stage"
MAX_PARALLELISM = 16
WORKERS = 3

keys = st.integers(0, 14)


@dataclass(frozen=True)
class Put:
    table: str
    key: int
    inner: int
    value: Any

    def do(self, state: SubtaskState, model: Content) -> None:
        table, plain = state.table(self.table, KINDS[self.table]), model[self.table]
        if KINDS[self.table] is FLAT:
            table.put(self.key, copy.deepcopy(self.value))
            plain[self.key] = copy.deepcopy(self.value)
        elif KINDS[self.table] is LIST:
            table.append(self.key, copy.deepcopy(self.value))
            plain.setdefault(self.key, []).append(copy.deepcopy(self.value))
        else:
            table.put(self.key, self.inner, copy.deepcopy(self.value))
            plain.setdefault(self.key, {})[self.inner] = copy.deepcopy(self.value)


@dataclass(frozen=True)
class Remove:
    table: str
    key: int
    inner: int

    def do(self, state: SubtaskState, model: Content) -> None:
        table, plain = state.table(self.table, KINDS[self.table]), model[self.table]
        if KINDS[self.table] in (FLAT, LIST):
            table.remove(self.key)
            plain.pop(self.key, None)
            return
        table.remove(self.key, self.inner)
        plain.get(self.key, {}).pop(self.inner, None)
        if not plain.get(self.key, {1: 1}):
            del plain[self.key]


@dataclass(frozen=True)
class Drop:
    key: int

    def do(self, state: SubtaskState, model: Content) -> None:
        state.table(TableId("op", "panes"), PANES).drop(self.key)
        model[TableId("op", "panes")].pop(self.key, None)


@dataclass(frozen=True)
class Change:
    """A value is changed in place, as user code may do."""

    key: int

    def do(self, state: SubtaskState, model: Content) -> None:
        state.table(TableId("op", "value"), FLAT)
        for value in (
            state.tables[TableId("op", "value")].get(self.key),
            model[TableId("op", "value")].get(self.key),
        ):  # type: ignore[attr-defined]
            if isinstance(value, list):
                value.append("changed")


values = st.one_of(st.integers(0, 5), st.just("text"), st.lists(st.integers(0, 3), max_size=2))
tables = st.sampled_from(sorted(KINDS))
actions = st.one_of(
    st.builds(Put, tables, keys, keys, values),
    st.builds(Put, tables, keys, keys, values),
    st.builds(Remove, tables, keys, keys),
    st.builds(Drop, keys),
    st.builds(Change, keys),
)


@dataclass(frozen=True)
class Epoch:
    worker: int
    actions: list[Any]
    outcome: str
    """accepted, refused (the worker hears of it from the next plan), failed (before the delta was
    made) or killed (the worker's memory is gone)."""
    big: bool


epochs = st.builds(
    Epoch,
    st.integers(0, WORKERS - 1),
    st.lists(actions, max_size=5),
    st.sampled_from(["accepted"] * 5 + ["refused", "failed", "killed"]),
    st.booleans(),
)
events = st.one_of(
    epochs, epochs, epochs, epochs, st.sampled_from(["checkpoint", "checkpoint", "pack", "restart"])
)


def empty() -> Content:
    return {name: {} for name in KINDS}


def content(state: SubtaskState) -> Content:
    found = empty()
    for name in KINDS:
        if name in state.tables:
            found[name] = copy.deepcopy(state.tables[name].data)  # type: ignore[attr-defined]
    return found


class History:
    """A job of one subtask: what the engine, the workers and the directory know of its state."""

    def __init__(self, job_dir: Path) -> None:
        self.job_dir = job_dir
        self.load = DeltaLoader(job_dir)
        self.workers = [SubtaskState() for _ in range(WORKERS)]
        self.model = empty()
        self.models: dict[str, Content] = {EMPTY: empty()}
        self.version = EMPTY
        self.deltas: list[StateDelta] = []
        self.unsaved: list[StateDelta] = []
        self.epoch = self.attempts = self.runs = 0
        self.checkpointed = False
        self.start_run()

    def start_run(self) -> None:
        self.runs += 1
        self.lease = Lease.acquire(self.job_dir, f"r{self.runs}")
        self.storage = CheckpointStorage(self.job_dir, f"r{self.runs}", self.lease, durable=False)

    def end_run(self) -> None:
        self.storage.close()
        self.lease.release()

    def play(self, event: Any) -> None:
        if isinstance(event, Epoch):
            self.run_epoch(event)
        elif event == "checkpoint":
            self.checkpoint()
        elif event == "pack":
            self.storage._packer.wait()
        else:
            self.end_run()
            self.start_run()
            self.go_on()

    def run_epoch(self, event: Epoch) -> None:
        worker = self.workers[event.worker]
        self.align(worker)
        assert content(worker) == self.model
        self.attempts += 1
        model = copy.deepcopy(self.model)
        for action in event.actions:
            action.do(worker, model)
        assert content(worker) == model
        if event.outcome != "failed":
            delta = worker.snapshot(self.epoch + 1, f"r{self.runs}-{self.epoch}-{self.attempts}")
            if event.outcome == "accepted":
                self.accept(delta, model, event.big)
        if event.outcome == "killed":
            self.workers[event.worker] = SubtaskState()

    def align(self, worker: SubtaskState) -> None:
        try:
            worker.align(self.version, self.deltas[-3:], self.load)
        except StateMissError:
            worker.restore(self.version, self.deltas, self.load)

    def accept(self, delta: StateDelta | None, model: Content, big: bool) -> None:
        self.epoch += 1
        if delta is None:
            assert model == self.model
            return
        if big:
            assert isinstance(delta.data, bytes)
            reference = write_segment(self.job_dir, f"s-{delta.version}", delta.data, durable=False)
            delta = StateDelta(delta.epoch, delta.version, delta.low_epoch, reference)
        self.version, self.model = delta.version, model
        self.models[delta.version] = model
        self.deltas = live([*self.deltas, delta])
        self.unsaved.append(delta)

    def checkpoint(self) -> None:
        _, moved = self.storage.publish(
            Manifest(
                job_name="job",
                epoch=self.epoch,
                timestamp=0,
                max_parallelism=MAX_PARALLELISM,
                stages={STAGE: 1},
                operators={},
                versions={(STAGE, 0): self.version} if self.version else {},
                sources={},
                pending={},
            ),
            [(STAGE, 0, delta) for delta in self.unsaved],
        )
        places = {delta.version: delta for _, _, delta in moved}
        self.deltas = [places.get(delta.version, delta) for delta in self.deltas]
        self.unsaved.clear()
        self.checkpointed = True

    def go_on(self) -> None:
        """From the newest checkpoint; the workers keep what they had, as zombies would."""
        manifest = self.storage.load_latest()
        assert (manifest is not None) == self.checkpointed
        if manifest is None:
            self.version, self.deltas, self.epoch = EMPTY, [], 0
        else:
            self.version = manifest.versions.get((STAGE, 0), EMPTY)
            self.deltas = self.storage.deltas(manifest).get((STAGE, 0), [])
            self.epoch = manifest.epoch
        self.model = self.models[self.version]
        self.unsaved.clear()


@contextlib.contextmanager
def small_scale() -> Iterator[None]:
    """Passes over several epochs, chunks and tiers although there is little state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental_compaction, "MINIMUM_ENTRIES", 1)
        patch.setattr(nested_table, "SPLIT_BELOW", 6)
        patch.setattr(nested_table, "CHUNK_ENTRIES", 2)
        patch.setattr(packing, "FILES_PER_TIER", 2)
        patch.setattr(packing, "MIN_BYTES_PER_STEP", 0)
        yield


@settings(max_examples=150)
@given(st.lists(actions, min_size=20, max_size=60), st.lists(events, max_size=40))
def test_any_history_gives_the_state_of_a_plain_dict(first: list[Any], then: list[Any]) -> None:
    """Caches, replayed table deltas, restores and packed files are all the same state."""
    with small_scale(), tempfile.TemporaryDirectory() as root:
        history = History(Path(root, "job"))
        history.play(Epoch(0, first, "accepted", False))
        for event in then:
            history.play(event)
        for worker in [*history.workers, SubtaskState()]:
            history.align(worker)
            assert content(worker) == history.model
        history.play("checkpoint")
        history.play("restart")
        fresh = SubtaskState()
        fresh.restore(history.version, history.deltas, history.load)
        assert content(fresh) == history.model
        history.end_run()


def owner(name: str, outer: int, inner: int) -> int:
    """The key that an entry belongs to."""
    return inner if KINDS[name] is PANES else outer


def keep_of(model: Content, groups: range) -> Content:
    """The part of a model that belongs to some key groups."""
    found = empty()
    for name, table in model.items():
        for outer, value in table.items():
            if KINDS[name] in (FLAT, LIST):
                if key_group_of(outer, MAX_PARALLELISM) in groups:
                    found[name][outer] = value
                continue
            inner = {
                i: v
                for i, v in value.items()
                if key_group_of(owner(name, outer, i), MAX_PARALLELISM) in groups
            }
            if inner:
                found[name][outer] = inner
    return found


@settings(max_examples=60)
@given(
    st.lists(st.lists(actions, max_size=12), min_size=1, max_size=8),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_other_key_group_ranges(
    history: list[list[Any]], parallelism: int, other_parallelism: int
) -> None:
    """Each new subtask has exactly the entries of its key groups, and can be restored alone."""
    model = empty()
    with small_scale():
        deltas = run_subtasks(history, parallelism, model)
        for index in range(other_parallelism):
            groups = key_group_range(index, other_parallelism, MAX_PARALLELISM)
            merged = SubtaskState()
            for kept in deltas:
                merged.take(
                    kept,
                    inline,
                    lambda name, kind: True,
                    lambda key, groups=groups: key_group_of(key, MAX_PARALLELISM) in groups,
                )
            assert content(merged) == keep_of(model, groups)
            delta = merged.snapshot(100, "new")
            assert delta is not None
            alone = SubtaskState()
            alone.restore("new", live([*deltas[0], delta]), inline)
            assert content(alone) == keep_of(model, groups)


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def run_subtasks(
    history: list[list[Any]], parallelism: int, model: Content
) -> list[list[StateDelta]]:
    """Run epochs on several subtasks, every action where its key belongs; returns their deltas."""
    states = [SubtaskState() for _ in range(parallelism)]
    deltas: list[list[StateDelta]] = [[] for _ in range(parallelism)]
    for epoch, batch in enumerate(history, start=1):
        for action in batch:
            route(action, states, model)
        for state, made in zip(states, deltas, strict=True):
            delta = state.snapshot(epoch, f"v{epoch}")
            if delta is not None:
                made.append(delta)
                state.align(delta.version, [delta], inline)
    return [live(made) for made in deltas]


def route(action: Any, states: list[SubtaskState], model: Content) -> None:
    if isinstance(action, Drop):  # a window ends in all subtasks
        for state in states:
            action.do(state, copy.deepcopy(model))
        model[TableId("op", "panes")].pop(action.key, None)
        return
    name = getattr(action, "table", TableId("op", "value"))
    key = owner(name, action.key, getattr(action, "inner", 0))
    group = key_group_of(key, MAX_PARALLELISM)
    action.do(states[group * len(states) // MAX_PARALLELISM], model)
