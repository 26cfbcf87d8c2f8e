"""Conformance tests of state backends; subclass them to test a backend of your own.

    from millrace.testing.state_backend_conformance import StateBackendConformance

    class TestMine(StateBackendConformance):
        def create(self):
            return MyStateBackend()

pytest finds the methods that begin with ``test``.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace.state.backend.state_backend import StateBackend, SubtaskId
from millrace.state.budget import Budget
from millrace.state.key_groups import KeyMemo, key_group_range
from millrace.state.kinds.table_kind import TableKind
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import EMPTY, StateMissError, SubtaskState
from millrace.state.table_id import TableId
from millrace.testing.table_program import KINDS, Content, TableProgram

__all__ = ["StateBackendConformance"]

MAX_PARALLELISM = 16
TABLES = {TableId("op", kind.name): kind for kind in KINDS}
_Model = dict[TableId, Content]


class StateBackendConformance:
    """Runs random programs on a backend and on plain dicts, and compares both.

    `programs` many of them, of `epochs` epochs each: more find more, and take longer.
    """

    programs = 12
    epochs = 12

    def create(self) -> StateBackend:
        """The backend; called once per test."""
        raise NotImplementedError

    # -- tests -------------------------------------------------------------------------

    def test_it_can_be_sent_to_workers(self) -> None:
        """The backend can be pickled with the program."""
        sent = pickle.loads(pickle.dumps(self.create()))
        assert isinstance(sent, StateBackend)
        assert sent.name

    def test_accepted_and_aborted_epochs(self) -> None:
        """Changes of accepted epochs add up, and aborted epochs leave no trace. The same holds
        in a worker that replays deltas."""
        for history in self._histories():
            for _ in range(self.epochs):
                history.epoch()
            history.check()

    def test_two_epochs_in_flight(self) -> None:
        """The next epoch begins before the previous epoch is accepted. If the previous epoch is
        accepted, the open one continues; if either is rolled back, exactly the accepted changes
        stay.
        """
        for history in self._histories():
            for _ in range(self.epochs // 3):
                history.pipeline(4)
            history.check()

    def test_restored_by_another_worker(self) -> None:
        """Another worker restores the state from the live deltas alone, after any epoch."""
        for history in self._histories():
            for _ in range(self.epochs):
                history.epoch()
                if history.random.random() < 0.3:
                    history.swap_worker()

    def test_rescaled(self) -> None:
        """After a change of the parallelism, every key is in exactly one subtask, and no entry
        is lost."""
        for history in self._histories():
            for _ in range(self.epochs // 2):
                history.epoch()
            history.rescale(history.random.choice([2, 3, 5]))

    def test_two_subtasks_do_not_meet(self) -> None:
        """Tables of one name in two subtasks of one process are separate."""
        backend = self.create()
        with _opened(backend, 0) as one, _opened(backend, 1) as other:
            for name, kind in TABLES.items():
                if hasattr(one.table(name, kind), "drop"):
                    one.table(name, kind).put("o", "i", 1)
                else:
                    one.table(name, kind).put("k", [1])
            for name, kind in TABLES.items():
                assert not list(other.table(name, kind).data)

    def test_a_reset_store_is_as_new(self) -> None:
        """A reset store is empty, and no former entry comes back."""
        for history in self._histories(3):
            for _ in range(4):
                history.epoch()
            history.state.reset()
            assert _content(history.state) == {name: {} for name in TABLES}

    # -- how ---------------------------------------------------------------------------

    def _histories(self, count: int | None = None) -> Iterator[_History]:
        for seed in range(count or self.programs):
            history = _History(self.create(), seed)
            try:
                yield history
            finally:
                history.close()


@contextmanager
def _opened(backend: StateBackend, subtask: int) -> Iterator[SubtaskState]:
    subtask_id = SubtaskId("conformance", "run", "stage", subtask)
    state = SubtaskState(backend=backend.create_keyed_state_backend(subtask_id))
    try:
        yield state
    finally:
        state.close()


class _History:
    """Applies the same random changes to a store and to dicts, epoch by epoch."""

    def __init__(self, backend: StateBackend, seed: int) -> None:
        self.random = random.Random(seed)
        self._backend = backend
        self._stores: list[Any] = []
        self.state = self._open()
        self._follower = self._open()
        self._program = TableProgram(self.random)
        self._model: _Model = {name: {} for name in TABLES}
        self._deltas: list[StateDelta] = []
        self._epoch = 0
        self._version = EMPTY

    def _open(self, subtask: int = 0) -> SubtaskState:
        opening = _opened(self._backend, subtask)
        self._stores.append(opening)
        state = opening.__enter__()
        for name, kind in TABLES.items():
            state.table(name, kind)
        return state

    def close(self) -> None:
        """Close all stores."""
        for opening in self._stores:
            opening.__exit__(None, None, None)

    def epoch(self) -> None:
        """Run one epoch, which is accepted or aborted."""
        self._epoch += 1
        model = self._changed(self.state, self._model)
        version = f"v{self._epoch}"
        delta = self.state.snapshot(self._epoch, version)
        assert _content(self.state) == model, "within an epoch"
        if self.random.random() < 0.25:
            self.state.align(self._version, self._recent(), _inline)
        elif delta is not None:
            self._accept(delta, model)
        assert _content(self.state) == self._model, "after an epoch"

    def pipeline(self, epochs: int) -> None:
        """Run epochs that begin while the one before waits. At the end, the open one is undone."""
        model = self._model
        for _ in range(epochs):
            self._epoch += 1
            ended = self._changed(self.state, model)
            delta = self.state.snapshot(self._epoch, f"v{self._epoch}")
            self.state.begin_next()
            model = self._changed(self.state, ended)
            assert _content(self.state) == model, "while an epoch waits"
            assert _scanned(self.state) == model, "in a scan while an epoch waits"
            if self.random.random() < 0.3:
                self._undo(delta, ended)
                model = self._model
            else:
                self._note(delta, ended)
                self.state.commit()
            assert _content(self.state) == model, "after the decision on the waiting epoch"
        self.state.align(self._version, self._recent(), _inline)
        assert _content(self.state) == self._model, "after the open epoch was undone"

    def _undo(self, delta: StateDelta | None, ended: _Model) -> None:
        """Undo the open epoch. The waiting one is undone too, or was accepted without the worker's
        knowledge, perhaps with another epoch after it."""
        case = self.random.choice(["rolled back", "refused", "accepted", "overtaken"])
        if case == "rolled back":
            self.state.roll_back()
            return
        if case != "refused":
            self._note(delta, ended)
        if case == "overtaken":
            self._follow()
            self._epoch += 1
            model = self._changed(self._follower, self._model)
            later = self._follower.snapshot(self._epoch, f"v{self._epoch}")
            self._note(later, model)
            self._bring(self.state)
            return
        self.state.align(self._version, self._recent(), _inline)

    def _changed(self, state: SubtaskState, model: _Model) -> _Model:
        """Change ``state`` at random; returns the model with the same changes."""
        model = copy.deepcopy(model)
        for _ in range(self.random.randint(0, 12)):
            name, kind = self.random.choice(list(TABLES.items()))
            self._program.step(state.table(name, kind), model[name])
        return model

    def _accept(self, delta: StateDelta, model: _Model) -> None:
        self._note(delta, model)
        self.state.align(delta.version, self._recent(), _inline)

    def _note(self, delta: StateDelta | None, model: _Model) -> None:
        """Record that an epoch is accepted; it changed nothing if there is no delta."""
        if delta is None:
            return
        self._deltas = live([*self._deltas, delta])
        self._version, self._model = delta.version, model
        if self.random.random() < 0.5:
            self._follow()

    def _follow(self) -> None:
        """Bring another worker up to date, by replay if it can."""
        self._bring(self._follower)
        assert _content(self._follower) == self._model, "replayed"

    def _bring(self, state: SubtaskState) -> None:
        """Bring a store to the accepted version, by replay if it can."""
        try:
            state.align(self._version, self._recent(), _inline)
        except StateMissError:
            state.restore(self._version, self._deltas, _inline)

    def _recent(self) -> list[StateDelta]:
        return self._deltas[-3:]

    def swap_worker(self) -> None:
        """Continue in an empty store."""
        self.state = self._open()
        self.state.restore(self._version, self._deltas, _inline)
        self.check()

    def check(self) -> None:
        """Check the contents of the store and of its deltas against the model."""
        assert _content(self.state) == self._model
        self._follow()

    def rescale(self, parallelism: int) -> None:
        """Spread the state over more subtasks."""
        restored: dict[TableId, Content] = {name: {} for name in TABLES}
        for subtask in range(parallelism):
            part = self._open(subtask)
            own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
            keep = KeyMemo(MAX_PARALLELISM, own.__contains__).__getitem__
            part.take(self._deltas, _inline, _every_table, keep)
            part.adopt(f"s{subtask}")
            for name, content in _content(part).items():
                _add(restored[name], content)
        assert restored == self._model, "rescaled"


def _every_table(name: TableId, kind: TableKind) -> bool:
    return True


def _add(total: Content, part: Content) -> None:
    for key, value in part.items():
        if isinstance(value, dict):
            merged = total.setdefault(key, {})
            assert not merged.keys() & value.keys()
            merged.update(value)
        else:
            assert key not in total
            total[key] = value


def _content(state: SubtaskState) -> dict[TableId, Content]:
    """The contents of all tables, as plain dicts."""
    return {name: _plain(state.table(name, kind)) for name, kind in TABLES.items()}


def _scanned(state: SubtaskState) -> _Model:
    """The contents of all tables, as scans give them."""
    contents = {}
    for name, kind in TABLES.items():
        copied = kind.in_memory()
        for step in state.table(name, kind).everything(Budget()):
            copied.apply(step.table_delta)
        contents[name] = _plain(copied)
    return contents


def _plain(table: Any) -> Content:
    if not hasattr(table, "drop"):
        return dict(table.data.items())
    contents = {outer: dict(entries.items()) for outer, entries in table.data.items()}
    return {outer: entries for outer, entries in contents.items() if entries}


def _inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data
