"""`SplitEnumerator` (FLIP-27): finds the splits of a source and assigns them, in the driver."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.common.functions.metrics import MetricGroup, UnregisteredMetricGroup
from millrace.common.source.source_split import AssignedSplit, SourceEvent, SourceSplit

__all__ = ["EnumeratorContext", "SplitEnumerator", "StaticEnumerator"]


@dataclass
class EnumeratorContext:
    """The enumerator's access to the readers of its source: parallelism, assignments, events.

    Assignments and events reach the subtasks with the next epoch.
    """

    parallelism: int
    metrics: MetricGroup = field(default_factory=UnregisteredMetricGroup)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("millrace.source"))
    assignments: list[tuple[int, AssignedSplit]] = field(default_factory=list)
    """(subtask, split) not yet taken over by the engine."""
    events: list[tuple[int, SourceEvent]] = field(default_factory=list)
    """(subtask, event) not yet taken over by the engine."""

    readers_look: bool = False
    """Whether readers look for new records all the time, so that no event has to tell them."""

    def assign_split(self, split: SourceSplit | AssignedSplit, subtask: int) -> None:
        """Assign a split to a subtask; splits that `SplitEnumerator.discover` returns need no
        assignment."""
        assigned = split if isinstance(split, AssignedSplit) else AssignedSplit(split)
        self.assignments.append((self._existing(subtask), assigned))

    def send_source_event(self, subtask: int, event: SourceEvent) -> None:
        """Send an event to the reader of a subtask (`SourceReader.handle_source_event`)."""
        self.events.append((self._existing(subtask), event))

    def _existing(self, subtask: int) -> int:
        if not 0 <= subtask < self.parallelism:
            raise ValueError(
                f"there is no subtask {subtask}: the parallelism is {self.parallelism}"
            )
        return subtask


class SplitEnumerator(ABC):
    """Finds the splits of a source; runs in the driver and is called between epochs."""

    def start(self, context: EnumeratorContext) -> None:
        """Start the enumerator; called once, after `restore_state` if there is state to restore."""

    def prepare_for_available_now(self, now: int) -> None:
        """Fix the end of the input for this run, which reads the data available at ``now`` and
        ends.

        Called once in such a run, between `start` and the first `discover`, if
        `Source.supports_available_now`. From then on `discover` returns what is there now (for a
        second run: since the first) and nothing that comes later, and then `no_more_splits` is
        True. Spark: the interface ``SupportsTriggerAvailableNow``.
        """

    def available_now_end(self, split: Any) -> Any:
        """In an available-now run, the end position of a split that itself has no end, such as a
        partition of a log. It becomes `AssignedSplit.end`. None by default.

        Called for each split that is assigned, also for those that an earlier run has begun.
        """
        return None

    @abstractmethod
    def discover(self, now: int) -> Sequence[SourceSplit]:
        """Splits found since the last call; the engine assigns each to the least busy subtask.

        Must return quickly, since no epoch runs meanwhile. ``now`` is in ms since 1970.
        """

    def no_more_splits(self) -> bool:
        """Whether no further split will ever be discovered or assigned."""
        return True

    def max_active_splits(self) -> int | None:
        """Maximum number of discovered splits per subtask at a time; None if unlimited."""
        return None

    def next_discovery(self, now: int) -> int | None:
        """Time (ms since the epoch) of the next call of `discover`; None if none is needed.

        Asked after `discover`, with its ``now``, and again with that when an epoch is over, since
        what was heard of splits and readers may change the answer.
        """
        return None

    def handle_split_request(self, subtask: int) -> None:
        """Handle a reader's request for a split, with `EnumeratorContext.assign_split`."""

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        """Handle an event from the reader of a subtask."""

    def handle_split_finished(self, split: Any) -> None:
        """Handle the end of a split, which the next checkpoint records as completely read."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Handle the completion of the checkpoint that contains the result of the last
        `snapshot_state`."""

    def add_splits_back(
        self, splits: Sequence[AssignedSplit], subtask: int
    ) -> Sequence[AssignedSplit]:
        """Take back splits that a subtask has not read.

        The epoch in which the subtask was to begin them has failed, or the job resumes with another
        parallelism.

        Returns:
            The splits that the engine assigns again as if they had been discovered: by default,
            all. The enumerator has to assign the others.
        """
        return splits

    def snapshot_state(self) -> Any:
        """State for `restore_state`, picklable; it is part of every checkpoint."""
        return None

    def restore_state(self, state: Any) -> None:
        """Restore a result of `snapshot_state`; called once, before any other method."""

    def close(self) -> None:
        """Release connections."""


class StaticEnumerator(SplitEnumerator):
    """Enumerator of a fixed list of splits: the first `discover` returns them all."""

    def __init__(self, splits: Sequence[SourceSplit]) -> None:
        self._splits = list(splits)
        self._all_returned = False

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self._all_returned:
            return ()
        self._all_returned = True
        return self._splits

    def no_more_splits(self) -> bool:
        return self._all_returned

    def snapshot_state(self) -> bool:
        return self._all_returned

    def restore_state(self, state: Any) -> None:
        self._all_returned = bool(state)
