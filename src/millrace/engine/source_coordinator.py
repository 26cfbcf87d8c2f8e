"""The driver's side of a source: its enumerator, which subtask reads which split, and how far."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import CheckpointError, SerializationError
from millrace.plan.job_graph import SourceNode
from millrace.runtime.epoch import SplitPlan, SplitProgress
from millrace.state.serialization.snapshot_codec import TRUSTING, SnapshotCodec


@dataclass
class _Assigned:
    split: Any
    subtask: int
    position: Any = None
    started: bool = False


class SourceCoordinator:
    """Assigns the splits of one source and follows their progress."""

    def __init__(self, node: SourceNode, codec: SnapshotCodec = TRUSTING) -> None:
        self.node = node
        self._codec = codec
        self._enumerator = node.source.create_enumerator()
        self._assigned: dict[str, _Assigned] = {}
        self._waiting: deque[Any] = deque()
        self._next_discovery: int | None = 0
        self._discovered_all = False
        self._told_end = False
        self._draining = False
        self._given = [0] * node.parallelism

    def discover(self, now: int) -> None:
        """Ask the enumerator for new splits if it is time to, and hand out what waits."""
        if not self._discovered_all and self._discovery_due(now):
            for split in self._enumerator.discover(now):
                if split.split_id not in self._assigned:
                    self._waiting.append(split)
            self._next_discovery = self._enumerator.next_discovery(now)
            self._discovered_all = self._enumerator.no_more_splits()
        self._hand_out()

    def _discovery_due(self, now: int) -> bool:
        return self._next_discovery is not None and self._next_discovery <= now

    def _hand_out(self) -> None:
        """Give waiting splits to the subtasks with the fewest active ones."""
        while self._waiting and (subtask := self._least_loaded()) is not None:
            split = self._waiting.popleft()
            self._given[subtask] += 1
            self._assigned[split.split_id] = _Assigned(split, subtask)

    def _least_loaded(self) -> int | None:
        """The subtask that gets the next split; None while all have as many as they may."""
        limit = self._enumerator.max_active_splits()
        loads = [0] * self.node.parallelism
        for assigned in self._assigned.values():
            loads[assigned.subtask] += 1
        # of equals, the one that has been given the fewest so far
        subtask = min(range(len(loads)), key=lambda index: (loads[index], self._given[index]))
        return None if limit is not None and loads[subtask] >= limit else subtask

    def drain(self) -> None:
        """End the input here: nothing more is read, and subtasks are told that nothing comes."""
        self._draining = True

    def plan(self, subtask: int, max_records: int) -> tuple[SplitPlan, ...]:
        """What a subtask is to read in the next epoch."""
        self._told_end = self.no_more_splits
        if self._draining:
            return ()
        return tuple(
            SplitPlan(self.node.uid, a.split, a.position, max_records)
            for a in self._assigned.values()
            if a.subtask == subtask
        )

    @property
    def no_more_splits(self) -> bool:
        """Whether every split there will ever be has been handed out."""
        return self._draining or (self._discovered_all and not self._waiting)

    def accept(self, progress: SplitProgress) -> None:
        """An epoch has been accepted in which a split was read this far."""
        if progress.finished:
            del self._assigned[progress.split_id]
            return
        assigned = self._assigned[progress.split_id]
        assigned.position = progress.position
        assigned.started = True

    def next_wakeup(self) -> int | None:
        """When there may be new splits (ms since the epoch)."""
        return None if self._discovered_all else self._next_discovery

    @property
    def has_news(self) -> bool:
        """Whether the subtasks must hear something: a split to begin, or that there are no more."""
        if self.no_more_splits and not self._told_end:
            return True
        if self._waiting and self._least_loaded() is not None:
            return True
        return any(not assigned.started for assigned in self._assigned.values())

    def snapshot(self) -> bytes:
        """The coordinator's state as part of a checkpoint. Finished splits are not kept: the
        enumerator's own state knows what it has handed out."""
        assigned = [(a.split, a.subtask, a.position) for a in self._assigned.values()]
        state = {
            "enumerator": self._enumerator.snapshot_state(),
            "assigned": assigned,
            "waiting": list(self._waiting),
            "all": self._discovered_all,
            "parallelism": self.node.parallelism,
        }
        try:
            return self._codec.encode(state)
        except SerializationError as error:
            raise SerializationError(
                f"what source '{self.node.name}' has to remember cannot be written: {error}; keep "
                "plain data in its splits and positions"
            ) from error

    def restore(self, snapshot: bytes) -> None:
        """Take over what `snapshot` gave, before the first `discover`."""
        try:
            self._restore(self._codec.decode(snapshot))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"source '{self.node.name}' cannot go on from what the checkpoint has of it "
                f"({type(error).__name__}: {error})"
            ) from error

    def _restore(self, state: dict[str, Any]) -> None:
        self._enumerator.restore_state(state["enumerator"])
        self._discovered_all = state["all"]
        self._waiting = deque(state["waiting"])
        same = state.get("parallelism", self.node.parallelism) == self.node.parallelism
        for number, (split, subtask, position) in enumerate(state["assigned"]):
            owner = (subtask if same else number) % self.node.parallelism
            self._assigned[split.split_id] = _Assigned(split, owner, position, started=True)

    def close(self) -> None:
        """Close the enumerator."""
        self._enumerator.close()
