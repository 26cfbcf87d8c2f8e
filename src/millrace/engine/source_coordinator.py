"""Driver's side of a source: its enumerator, the assignment of its splits to subtasks, and their
positions."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

from millrace.common.errors import CheckpointError, SerializationError
from millrace.common.source import AssignedSplit, BatchDelivery, EnumeratorContext, SourceEvent
from millrace.job_graph.job_graph import SourceNode
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.epoch import Ack, SplitPlan, SplitProgress
from millrace.runtime.metrics import MetricRegistry, RegisteredGroup
from millrace.state.serialization.payload import decode, encode


@dataclass
class _Assigned:
    split: Any
    subtask: int
    position: Any = None
    end: Any = None
    """Position at which the run ends."""
    planned: bool = False
    """Whether the split has been in a plan."""
    started: bool = False
    at_end: bool = False
    watermark: int | None = MIN_WATERMARK
    """Watermark of the split; None if it is idle."""
    paused: bool = False


class SourceCoordinator:
    """Assigns the splits of one source, tracks their progress and transports its events.

    Args:
        available_now: whether the run reads only the input that exists at its beginning.
        keeps_epochs_open: whether readers look for records all the time.
    """

    def __init__(
        self, node: SourceNode, available_now: bool = False, keeps_epochs_open: bool = False
    ) -> None:
        self.node = node
        self._available_now = available_now
        self._prepared = False
        """Whether the end of such a run is fixed."""
        self.metrics = MetricRegistry()
        """Metrics of the enumerator."""
        self._enumerator = node.source.create_enumerator()
        self._context = EnumeratorContext(
            node.parallelism,
            RegisteredGroup(self.metrics),
            logging.getLogger(f"millrace.source.{node.name}"),
            readers_look=keeps_epochs_open,
        )
        self._enumerating = False
        self._assigned: dict[str, _Assigned] = {}
        self._waiting: OrderedDict[str, AssignedSplit] = OrderedDict()
        """Splits that have not been assigned to a subtask yet, by id."""
        self._events: list[tuple[int, SourceEvent]] = []
        self._sent = 0
        """Number of the events in the plans of the running epoch."""
        self._next_discovery: int | None = 0
        self._last_discovery = 0
        self._discovered_all = False
        self._end_sent = False
        self._draining = False
        self._halted = False
        self._given = [0] * node.parallelism

    def discover(self, now: int) -> None:
        """Ask the enumerator for new splits if it is time, and assign the waiting splits."""
        self._start()
        if self._available_now and not self._prepared:
            self._fix_end(now)
        if not self._discovered_all and self._discovery_due(now):
            self._enqueue(AssignedSplit(split) for split in self._enumerator.discover(now))
            self._last_discovery = now
            self._next_discovery = self._enumerator.next_discovery(now)
            self._discovered_all = self._enumerator.no_more_splits()
        self._take_over()
        self._hand_out()

    def _enqueue(self, splits: Iterable[AssignedSplit]) -> None:
        """Add splits to those that wait for a subtask. A split that already waits or is being
        read may be reported again, and is not read twice."""
        for waiting in splits:
            if waiting.split.split_id not in self._assigned:
                self._waiting.setdefault(waiting.split.split_id, waiting)

    def _start(self) -> None:
        if not self._enumerating:
            self._enumerating = True
            self._enumerator.start(self._context)

    def _fix_end(self, now: int) -> None:
        """Determine the end of the input for this run anew. The end in the checkpoint belongs to
        an earlier run."""
        self._prepared, self._discovered_all, self._next_discovery = True, False, now
        self._enumerator.prepare_for_available_now(now)
        for assigned in self._assigned.values():
            assigned.end = self._enumerator.available_now_end(assigned.split)

    def _assign(self, waiting: AssignedSplit, subtask: int) -> None:
        split, position, _ = waiting
        end = self._enumerator.available_now_end(split) if self._prepared else None
        self._given[subtask] += 1
        self._assigned[split.split_id] = _Assigned(split, subtask, position, end)

    def _discovery_due(self, now: int) -> bool:
        return self._next_discovery is not None and self._next_discovery <= now

    def _take_over(self) -> None:
        """Take over the assignments and events that the enumerator passed to its context."""
        for subtask, assigned in self._context.assignments:
            self._waiting.pop(assigned.split.split_id, None)
            self._assign(assigned, subtask)
        self._events += self._context.events
        self._context.assignments.clear()
        self._context.events.clear()

    def _hand_out(self) -> None:
        """Assign each waiting split to the subtask with the fewest active splits. If several
        subtasks have the fewest, it goes to the one that has been given the fewest splits so
        far."""
        if not self._waiting:
            return
        limit = self._enumerator.max_active_splits()
        loads = self._loads()
        ranks = [(load, self._given[subtask], subtask) for subtask, load in enumerate(loads)]
        heapify(ranks)
        while self._waiting:
            load, given, subtask = ranks[0]
            if limit is not None and load >= limit:
                return
            heapreplace(ranks, (load + 1, given + 1, subtask))
            self._assign(self._waiting.popitem(last=False)[1], subtask)

    def _loads(self) -> list[int]:
        """Number of splits that each subtask reads."""
        loads = [0] * self.node.parallelism
        for assigned in self._assigned.values():
            loads[assigned.subtask] += 1
        return loads

    def _can_take_more(self) -> bool:
        limit = self._enumerator.max_active_splits()
        return limit is None or min(self._loads()) < limit

    def give_back(self) -> None:
        """After an epoch failed in the user's code, take back the splits that no earlier epoch has
        read. Other subtasks may read these splits."""
        for subtask in range(self.node.parallelism):
            unread = [a for a in self._assigned.values() if a.subtask == subtask and not a.started]
            for assigned in unread:
                del self._assigned[assigned.split.split_id]
            self._give_back([AssignedSplit(a.split, a.position) for a in unread], subtask)

    def _give_back(self, splits: list[AssignedSplit], subtask: int) -> None:
        if splits:
            self._start()
            self._enqueue(self._enumerator.add_splits_back(splits, subtask))
            # what the enumerator has kept is still to come
            self._discovered_all = self._enumerator.no_more_splits()

    def drain(self) -> None:
        """End the input at the present positions: sources read no more, and subtasks are
        notified that no more records come."""
        self._draining = True

    def halt(self, halted: bool = True) -> None:
        """Stop reading, or resume it. This does not end the input."""
        self._halted = halted

    def plan(self, subtask: int, max_records: int) -> tuple[SplitPlan, ...]:
        """Splits and positions for a subtask to read in the next epoch."""
        self._end_sent = self.no_more_splits
        if self._draining or self._halted:
            return ()
        own = [a for a in self._assigned.values() if a.subtask == subtask]
        for assigned in own:
            assigned.planned = True
        return tuple(SplitPlan(self.node.uid, a.split, a.position, max_records, a.end) for a in own)

    def events(self, subtask: int) -> tuple[SourceEvent, ...]:
        """Events for a subtask's reader in the next epoch."""
        if self._draining or self._halted:  # who reads nothing is not told what to read
            self._sent = 0
            return ()
        self._sent = len(self._events)
        return tuple(event for target, event in self._events if target == subtask)

    @property
    def no_more_splits(self) -> bool:
        """Whether all splits have been assigned and no more will come."""
        if self._halted:  # what is left is for the run that goes on from here
            return False
        if self._available_now and not self._draining:  # so it is for runs that follow
            return False
        return self._draining or (self._discovered_all and not self._waiting)

    @property
    def reached_end(self) -> bool:
        """Whether a bounded run (available now) has read all its input."""
        found_all = self._prepared and self._discovered_all and not self._waiting
        return found_all and all(assigned.at_end for assigned in self._assigned.values())

    def accept(self, progress: SplitProgress) -> None:
        """Note the progress of a split in an accepted epoch."""
        if progress.finished:
            finished = self._assigned.pop(progress.split_id)
            self._enumerator.handle_split_finished(finished.split)
            return
        assigned = self._assigned[progress.split_id]
        assigned.position = progress.position
        assigned.watermark, assigned.paused = progress.watermark, progress.paused
        assigned.started, assigned.at_end = True, progress.at_end

    def accept_events(self, acks: Iterable[Ack]) -> None:
        """Record that the events of an accepted epoch have arrived, and process the events in the
        answers."""
        del self._events[: self._sent]
        self._sent = 0
        uid = self.node.uid
        for ack in acks:
            if uid in ack.reading.split_requests:
                self._enumerator.handle_split_request(ack.subtask)
            for event in ack.reading.source_events.get(uid, ()):
                self._enumerator.handle_source_event(ack.subtask, event)
        self._take_over()
        # what the enumerator has heard may change when it is to look, and for what
        self._next_discovery = self._enumerator.next_discovery(self._last_discovery)
        self._discovered_all = self._enumerator.no_more_splits()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Record that a checkpoint with the last `snapshot` is complete."""
        self._start()
        self._enumerator.notify_checkpoint_complete(checkpoint_id)

    def lowest_watermark(self) -> int | None:
        """Lowest watermark of all splits that are not finished, idle, or at the end of the run;
        None if there are none."""
        marks = (a.watermark for a in self._assigned.values() if not a.at_end)
        return min((mark for mark in marks if mark is not None), default=None)

    def pauses_below(self, limit: int | None) -> bool:
        """Whether a paused split can be read again, because its watermark is not above ``limit``
        (None: no limit)."""
        return any(
            a.paused and (limit is None or a.watermark is None or a.watermark <= limit)
            for a in self._assigned.values()
        )

    def next_wakeup(self) -> int | None:
        """Time at which there may be new splits (ms since the epoch); None if all splits have
        been discovered."""
        return None if self._discovered_all else self._next_discovery

    @property
    def has_news(self) -> bool:
        """Whether the subtasks must be notified of a new split, or that no more splits come."""
        if self._halted:
            return False
        if self.no_more_splits and not self._end_sent:
            return True
        if self._draining:  # no plan contains splits or events any more
            return False
        if self._events or (self._waiting and self._can_take_more()):
            return True
        return any(not assigned.started for assigned in self._assigned.values())

    @property
    def has_unplanned_news(self) -> bool:
        """Whether there is news for the subtasks that the plans of the running epoch do not
        contain.
        """
        if self._halted:
            return False
        if self.no_more_splits and not self._end_sent:
            return True
        if self._draining:
            return False
        if len(self._events) > self._sent or (self._waiting and self._can_take_more()):
            return True
        return not all(assigned.planned for assigned in self._assigned.values())

    def snapshot(self) -> bytes:
        """State of the coordinator as part of a checkpoint. Finished splits are left out,
        because the enumerator's own state knows which splits it has assigned."""
        assigned = [(a.split, a.subtask, a.position) for a in self._assigned.values()]
        state = {
            "enumerator": self._enumerator.snapshot_state(),
            "assigned": assigned,
            "waiting": [(entry.split, entry.position) for entry in self._waiting.values()],
            # what the executor delivers is of this process: enumerators offer it again
            "events": [(s, e) for s, e in self._events if not isinstance(e, BatchDelivery)],
            "watermarks": {name: a.watermark for name, a in self._assigned.items()},
            "all": self._discovered_all,
            "parallelism": self.node.parallelism,
        }
        try:
            return encode(state)
        except SerializationError as error:
            raise SerializationError(
                f"the state of source '{self.node.name}' cannot be written: {error}; keep "
                "plain data in its splits and positions"
            ) from error

    def restore(self, snapshot: bytes) -> None:
        """Restore the state of `snapshot`, before the first `discover`."""
        try:
            self._restore(decode(snapshot))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"source '{self.node.name}' cannot continue from its state in the "
                f"checkpoint ({type(error).__name__}: {error})"
            ) from error

    def _restore(self, state: dict[str, Any]) -> None:
        self._enumerator.restore_state(state["enumerator"])
        self._discovered_all = state["all"]
        self._enqueue(AssignedSplit(*entry) for entry in state["waiting"])
        if state["parallelism"] == self.node.parallelism:
            self._events = list(state.get("events", ()))
            marks = state.get("watermarks", {})
            for split, subtask, position in state["assigned"]:
                name = split.split_id
                mark = marks.get(name, MIN_WATERMARK)
                self._assigned[name] = _Assigned(
                    split, subtask, position, started=True, watermark=mark
                )
            return
        for former in range(state["parallelism"]):
            read = [(s, at) for s, owner, at in state["assigned"] if owner == former]
            self._give_back([AssignedSplit(*entry) for entry in read], former)
        self._take_over()
        self._hand_out()

    def close(self) -> None:
        """Close the enumerator."""
        self._enumerator.close()
