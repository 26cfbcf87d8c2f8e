"""The reader of a `HybridSource`: in each subtask, runs the reader of the current source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.source import (
    AssignedSplit,
    ReaderContext,
    SourceEvent,
    SourceReader,
    SplitRecords,
)
from millrace.connectors.hybrid.member import MemberEvent, MemberRequest, SourceListEntry

__all__ = ["HybridReader"]


@dataclass
class _MemberContext(ReaderContext):
    """Context of a member's reader: forwards its requests to the subtask's context, with the
    member's index."""

    outer: ReaderContext | None = None
    index: int = 0

    def output(self, tag: OutputTag[Any], value: Any) -> None:
        assert self.outer is not None
        self.outer.output(tag, value)

    def send_split_request(self) -> None:
        assert self.outer is not None
        self.outer.send_split_request()

    def send_source_event(self, event: SourceEvent) -> None:
        assert self.outer is not None
        self.outer.send_source_event(MemberEvent(self.index, None, event))


class HybridReader(SourceReader[Any]):
    """Reader of the current source. Splits and events tell it which source is current; until the
    first one arrives, it asks the enumerator.
    """

    def __init__(self, members: Sequence[SourceListEntry], context: ReaderContext) -> None:
        self._members = members
        self._context = context
        self._index = -1
        self._reader: SourceReader[Any] | None = None
        self._has_asked = False
        """Whether the enumerator has been asked in this epoch which source is current."""
        self._no_more_splits = False
        """Whether no more splits will come, which may be known before the current reader is."""

    def _turn(self, index: int, position: Any) -> SourceReader[Any]:
        """Reader of the source with this index; the reader of any other source is closed."""
        if self._reader is not None and index == self._index:
            return self._reader
        self.close()
        known = {f.name: getattr(self._context, f.name) for f in fields(ReaderContext)}
        context = _MemberContext(**known, outer=self._context, index=index)
        self._reader = self._members[index].source(position).create_reader(context)
        self._index = index
        if self._no_more_splits:
            self._reader.notify_no_more_splits()
        return self._reader

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        first = splits[0].split
        reader = self._turn(first.index, first.position)
        reader.add_splits([assigned._replace(split=assigned.split.split) for assigned in splits])

    def handle_source_event(self, event: SourceEvent) -> None:
        if isinstance(event, MemberEvent) and event.index >= self._index:
            reader = self._turn(event.index, event.position)
            if event.event is not None:
                reader.handle_source_event(event.event)

    def begin_epoch(self, max_records_per_split: int) -> None:
        if self._reader is None:
            if not self._has_asked:
                self._context.send_source_event(MemberRequest())
            self._has_asked = True
        else:
            self._reader.begin_epoch(max_records_per_split)

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        if self._reader is None:
            return ()
        return [
            records._replace(split_id=self._outer(records.split_id))
            for records in self._reader.poll(max_records)
        ]

    def snapshot_state(self) -> Mapping[str, Any]:
        if self._reader is None:
            self._has_asked = False  # if this epoch is undone, its question is lost
            return {}
        return {self._outer(name): at for name, at in self._reader.snapshot_state().items()}

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        if self._reader is not None:
            paused, resumed = map(self._inner, pause), map(self._inner, resume)
            self._reader.pause_or_resume_splits(list(paused), list(resumed))

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True
        if self._reader is not None:
            self._reader.notify_no_more_splits()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._reader is not None:
            self._reader.notify_checkpoint_complete(checkpoint_id)

    def next_wakeup(self, now: int) -> int | None:
        return None if self._reader is None else self._reader.next_wakeup(now)

    def _outer(self, split_id: str) -> str:
        return f"{self._index}-{split_id}"

    def _inner(self, split_id: str) -> str:
        return split_id.removeprefix(f"{self._index}-")

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
