"""The enumerator of a source: it lives in the driver, finds splits and assigns them."""

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
    """What an enumerator may ask about its source's readers, and tell them.

    Assignments and events reach the subtasks with the next epoch.
    """

    parallelism: int
    metrics: MetricGroup = field(default_factory=UnregisteredMetricGroup)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("millrace.source"))
    assignments: list[tuple[int, AssignedSplit]] = field(default_factory=list)
    """(subtask, split) not yet taken over by the engine."""
    events: list[tuple[int, SourceEvent]] = field(default_factory=list)
    """(subtask, event) not yet taken over by the engine."""

    def assign_split(self, split: SourceSplit | AssignedSplit, subtask: int) -> None:
        """Have a subtask read a split; what `SplitEnumerator.discover` returns needs no call."""
        assigned = split if isinstance(split, AssignedSplit) else AssignedSplit(split)
        self.assignments.append((self._existing(subtask), assigned))

    def send_source_event(self, subtask: int, event: SourceEvent) -> None:
        """Send the reader of a subtask a message (`SourceReader.handle_source_event`)."""
        self.events.append((self._existing(subtask), event))

    def _existing(self, subtask: int) -> int:
        if not 0 <= subtask < self.parallelism:
            raise ValueError(
                f"there is no subtask {subtask}: the parallelism is {self.parallelism}"
            )
        return subtask


class SplitEnumerator(ABC):
    """Finds the splits of a source; lives in the driver and is called between epochs."""

    def start(self, context: EnumeratorContext) -> None:
        """The first call, after `restore_state` if there is something to restore."""

    @abstractmethod
    def discover(self, now: int) -> Sequence[SourceSplit]:
        """Splits found since the last call (``now`` in ms since the epoch), to be read by
        whichever subtask has least to do. Must be quick."""

    def no_more_splits(self) -> bool:
        """True when there will never be another split: neither found nor assigned."""
        return True

    def max_active_splits(self) -> int | None:
        """How many splits a subtask may be given at a time of those that `discover` returns;
        None: all."""
        return None

    def next_discovery(self, now: int) -> int | None:
        """When (ms since the epoch) to call `discover` again; None: no need."""
        return None

    def handle_split_request(self, subtask: int) -> None:
        """The reader of a subtask asks for a split: `EnumeratorContext.assign_split` gives one."""

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        """The reader of a subtask has sent a message."""

    def add_splits_back(
        self, splits: Sequence[AssignedSplit], subtask: int
    ) -> Sequence[AssignedSplit]:
        """A subtask will not read these: the epoch that it was to begin them in has failed, or the
        job goes on with another parallelism.

        Returns:
            Those that the engine is to assign again as if they had been discovered: all of them,
            by default. The others are the enumerator's to assign.
        """
        return splits

    def snapshot_state(self) -> Any:
        """What `restore_state` needs, picklable; part of every checkpoint."""
        return None

    def restore_state(self, state: Any) -> None:
        """Take over what `snapshot_state` gave; called once, before all others."""

    def close(self) -> None:
        """Release connections."""


class StaticEnumerator(SplitEnumerator):
    """Hands out a fixed list of splits once."""

    def __init__(self, splits: Sequence[SourceSplit]) -> None:
        self._splits = list(splits)
        self._handed_out = False

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self._handed_out:
            return ()
        self._handed_out = True
        return self._splits

    def no_more_splits(self) -> bool:
        return self._handed_out

    def snapshot_state(self) -> bool:
        return self._handed_out

    def restore_state(self, state: Any) -> None:
        self._handed_out = bool(state)
