"""The enumerator of a `HybridSource`: runs the enumerators of its sources one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.source import (
    AssignedSplit,
    EnumeratorContext,
    Source,
    SourceEvent,
    SourceSplit,
    SplitEnumerator,
)
from millrace.connectors.hybrid.member import (
    HybridSplit,
    MemberEvent,
    MemberRequest,
    SourceListEntry,
)

__all__ = ["HybridEnumerator"]


class HybridEnumerator(SplitEnumerator):
    """Switches to the next source when all splits of the current one have been read to their ends.

    Its state: whose turn it is, where each source started, what the current enumerator remembers,
    and the splits that are not finished.
    """

    def __init__(self, members: Sequence[SourceListEntry]) -> None:
        self._members = members
        self._index = 0
        self._positions: list[Any] = [None]
        """Start positions of the sources, up to the current one."""
        self._enumerators = {0: members[0].source(None).create_enumerator()}
        """The current enumerator, and ended ones that still wait for complete checkpoints."""
        self._open: set[str] = set()
        """Ids of splits that have not been read to their ends."""
        self._discovered = False
        """Whether the current enumerator has said that there are no more splits."""
        self._next: int | None = 0
        self._available_now = False
        self._context = EnumeratorContext(1)
        self._inner_context = EnumeratorContext(1)

    @property
    def _current(self) -> SplitEnumerator:
        return self._enumerators[self._index]

    @property
    def _last(self) -> bool:
        return self._index == len(self._members) - 1

    def start(self, context: EnumeratorContext) -> None:
        self._context = context
        for enumerator in self._enumerators.values():
            self._start(enumerator)

    def _start(self, enumerator: SplitEnumerator) -> None:
        self._inner_context = replace(self._context, assignments=[], events=[])
        enumerator.start(self._inner_context)
        self._take_over()

    def prepare_for_available_now(self, now: int) -> None:
        self._available_now, self._discovered, self._next = True, False, now
        self._current.prepare_for_available_now(now)

    def available_now_end(self, split: HybridSplit) -> Any:
        return self._current.available_now_end(split.split)

    # -- discovery ---------------------------------------------------------------------

    def discover(self, now: int) -> Sequence[SourceSplit]:
        splits = self._found(now)
        while self._switch_due:
            self._switch(now)
            splits += self._found(now)
        return splits

    @property
    def _switch_due(self) -> bool:
        """Whether the current source is fully read and another one follows."""
        return self._discovered and not self._open and not self._last

    def _found(self, now: int) -> list[HybridSplit]:
        """New splits of the current enumerator, if its discovery is due."""
        if self._discovered or self._next is None or self._next > now:
            return []
        splits = [self._wrapped(split) for split in self._current.discover(now)]
        self._open.update(split.split_id for split in splits)
        self._next = self._current.next_discovery(now)
        self._update()
        return splits

    def _switch(self, now: int) -> None:
        """Start the next source at its starting position."""
        previous = self._current
        position = self._members[self._index + 1].position_after(previous)
        if not self._members[self._index].source(self._positions[-1]).requires_checkpoints:
            self._enumerators.pop(self._index).close()
        self._index += 1
        self._positions.append(position)
        self._discovered, self._next = False, now
        self._context.logger.info("source %d has ended; the next source follows", self._index - 1)
        for subtask in range(self._context.parallelism):
            self._context.send_source_event(subtask, MemberEvent(self._index, position))
        member = self._members[self._index].source(position)
        self._enumerators[self._index] = member.create_enumerator()
        self._start(self._current)
        if self._available_now:
            self._prepare_made(member, now)

    def _prepare_made(self, source: Source[Any], now: int) -> None:
        if not source.supports_available_now:
            raise JobDefinitionError(
                "--available-now needs sources that can end at their present input; "
                f"{type(source).__name__}, source {self._index} of the HybridSource, cannot"
            )
        self._current.prepare_for_available_now(now)

    def no_more_splits(self) -> bool:
        return self._last and self._discovered

    def next_discovery(self, now: int) -> int | None:
        return now if self._switch_due else self._next

    def max_active_splits(self) -> int | None:
        return self._current.max_active_splits()

    # -- readers -----------------------------------------------------------------------

    def handle_split_request(self, subtask: int) -> None:
        self._current.handle_split_request(subtask)
        self._update()

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        if isinstance(event, MemberRequest):
            told = MemberEvent(self._index, self._positions[-1])
            self._context.send_source_event(subtask, told)
        elif isinstance(event, MemberEvent) and event.index == self._index and event.event:
            self._current.handle_source_event(subtask, event.event)
            self._update()

    def handle_split_finished(self, split: HybridSplit) -> None:
        self._open.discard(split.split_id)
        self._current.handle_split_finished(split.split)
        self._update()

    def add_splits_back(
        self, splits: Sequence[AssignedSplit], subtask: int
    ) -> Sequence[AssignedSplit]:
        self._open.difference_update(assigned.split.split_id for assigned in splits)
        inner = [assigned._replace(split=assigned.split.split) for assigned in splits]
        again = [
            assigned._replace(split=self._wrapped(assigned.split))
            for assigned in self._current.add_splits_back(inner, subtask)
        ]
        self._open.update(assigned.split.split_id for assigned in again)
        self._update()
        return again

    def _update(self) -> None:
        """Take over the results of a call to the current enumerator."""
        self._take_over()
        self._discovered = self._current.no_more_splits()

    def _take_over(self) -> None:
        """Forward the assignments and events that an enumerator gave to its context."""
        inner = self._inner_context
        for subtask, assigned in inner.assignments:
            split = self._wrapped(assigned.split)
            self._open.add(split.split_id)
            self._context.assign_split(assigned._replace(split=split), subtask)
        for subtask, event in inner.events:
            told = MemberEvent(self._index, self._positions[-1], event)
            self._context.send_source_event(subtask, told)
        inner.assignments.clear()
        inner.events.clear()

    def _wrapped(self, split: SourceSplit) -> HybridSplit:
        name = f"{self._index}-{split.split_id}"
        return HybridSplit(name, self._index, self._positions[-1], split)

    # -- checkpoints -------------------------------------------------------------------

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        for enumerator in self._enumerators.values():
            enumerator.notify_checkpoint_complete(checkpoint_id)
        self._take_over()

    def snapshot_state(self) -> dict[str, Any]:
        return {
            "index": self._index,
            "positions": list(self._positions),
            "enumerators": {i: e.snapshot_state() for i, e in self._enumerators.items()},
            "open": set(self._open),
            "discovered": self._discovered,
        }

    def restore_state(self, state: dict[str, Any]) -> None:
        close_all(self._enumerators.values())
        self._index, self._positions = state["index"], list(state["positions"])
        self._open, self._discovered = set(state["open"]), state["discovered"]
        self._enumerators = {}
        for index, remembered in state["enumerators"].items():
            source = self._members[index].source(self._positions[index])
            self._enumerators[index] = source.create_enumerator()
            self._enumerators[index].restore_state(remembered)

    def close(self) -> None:
        close_all(self._enumerators.values())


def close_all(enumerators: Iterable[SplitEnumerator]) -> None:
    """Close all enumerators."""
    for enumerator in enumerators:
        enumerator.close()
