"""Incremental compaction keeps the number of live deltas bounded, at a bounded price per epoch."""

from __future__ import annotations

import pytest

from millrace.state.delta_payload import contents
from millrace.state.kinds.table_kind import TableKind
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, MAP, PANES


def load(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def copies(delta: StateDelta) -> bool:
    """Whether it has a piece of the incremental compaction."""
    return "all" not in (first := next(contents(delta, load))) and "compaction" in first


class History:
    """One store that touches a few of many entries per epoch, every epoch accepted."""

    def __init__(self, kind: TableKind, outers: int, inners: int) -> None:
        self.state = SubtaskState()
        self.table = self.state.table(TableId("op", "x"), kind)
        self.deltas: list[StateDelta] = []
        self.sizes: list[int] = []
        self.shape = outers, inners
        for outer in range(outers):
            for inner in range(inners):
                self.set(outer, inner, 0)
        self.end_epoch(1)

    def set(self, outer: int, inner: int, value: int) -> None:
        if hasattr(self.table, "drop"):
            self.table.put(outer, inner, value)
        else:
            self.table.put((outer, inner), value)

    def end_epoch(self, epoch: int) -> None:
        delta = self.state.snapshot(epoch, f"v{epoch}")
        assert delta is not None
        self.deltas = live([*self.deltas, delta])
        self.sizes.append(delta.size() if copies(delta) else 0)
        self.state.align(delta.version, [delta], load)

    def run(self, epochs: int, per_epoch: int) -> None:
        outers, inners = self.shape
        for epoch in range(2, epochs + 2):
            for i in range(per_epoch):
                self.set((epoch * per_epoch + i) % outers, epoch % inners, epoch)
            self.end_epoch(epoch)


@pytest.mark.parametrize(
    ("kind", "outers", "inners"),
    [(FLAT, 2000, 1), (MAP, 2000, 1), (MAP, 12_000, 1), (MAP, 700, 3), (PANES, 1, 2000)],
)
def test_live_deltas_are_bounded(kind: TableKind, outers: int, inners: int) -> None:
    """At about two passes, each as many epochs as it takes to change as much as there is."""
    per_epoch = 100
    history = History(kind, outers, inners)
    entries = outers * inners
    history.run(5 * entries // per_epoch, per_epoch)
    assert len(history.deltas) <= 2.5 * entries / per_epoch
    replica = SubtaskState()
    replica.restore("x", history.deltas, load)
    assert replica.tables[TableId("op", "x")].data == history.table.data  # type: ignore[attr-defined]


def test_no_epoch_writes_very_much() -> None:
    """An epoch copies about as much as it changed."""
    history = History(FLAT, 5000, 1)
    history.run(200, 50)
    sizes = sorted(size for size in history.sizes if size)
    assert sizes[-1] < 3 * sizes[len(sizes) // 2]


@pytest.mark.parametrize("abort_every", [2, 3])
def test_an_aborted_epoch_takes_its_copies_back(abort_every: int) -> None:
    """What it copied is copied again: when the pass is complete nothing may be missing."""
    history = History(FLAT, 1000, 1)
    accepted = history.deltas[-1]
    epoch, attempts = 2, 0
    while epoch < 40:
        attempts += 1
        for i in range(50):
            history.set((epoch * 7 + i) % 1000, 0, epoch)
        delta = history.state.snapshot(epoch, f"a{attempts}")
        assert delta is not None
        if attempts % abort_every:
            accepted = delta
            history.deltas = live([*history.deltas, delta])
            epoch += 1
        history.state.align(accepted.version, [accepted], load)
    assert history.deltas[0].epoch > 1
    replica = SubtaskState()
    replica.restore("x", history.deltas, load)
    assert replica.tables[TableId("op", "x")].data == history.table.data  # type: ignore[attr-defined]
