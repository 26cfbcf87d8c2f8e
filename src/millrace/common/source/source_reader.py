"""The reader of a source, which reads the splits assigned to its subtask."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from millrace.common.errors import JobExecutionError
from millrace.common.functions.metrics import MetricGroup, UnregisteredMetricGroup
from millrace.common.functions.output_tag import OutputTag
from millrace.common.source.source_split import AssignedSplit, SourceEvent
from millrace.common.types.batch import ColumnBatch, RowBatch

__all__ = ["ReaderContext", "SourceReader", "SplitRecords"]

T = TypeVar("T")


class SplitRecords(NamedTuple, Generic[T]):
    """Records of one split, in order, with event times if the source knows them."""

    split_id: str
    batch: RowBatch[T] | ColumnBatch
    """The records; data that is columnar already is best returned as columns."""
    finished: bool = False
    """Whether the split ends with these records."""
    skipped: int = 0
    """Records of the split that were read and are not in the batch: they count as read."""
    at_end: bool = False
    """This run reads no more of the split than this: it has come to `AssignedSplit.end`, if only
    with an empty batch. The split and its position stay, for the run that follows."""


@dataclass
class ReaderContext:
    """Context of a reader: its subtask, metrics, and events to the enumerator."""

    subtask_index: int
    parallelism: int
    current_time: Callable[[], int]
    """Processing time in milliseconds since the epoch (a manual clock in tests)."""
    poll_interval: int = 100
    """Milliseconds until the next poll of a reader that does not know when records will come."""
    metrics: MetricGroup = field(default_factory=UnregisteredMetricGroup)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("millrace.source"))
    split_requested: bool = False
    """Set by `send_split_request`; taken over at the end of each epoch."""
    events: list[SourceEvent] = field(default_factory=list)
    """Not yet sent; taken over at the end of each epoch."""
    outputs: dict[OutputTag[Any], list[Any]] = field(default_factory=dict)
    """For side outputs; taken over after each `SourceReader.poll`."""
    wake_up: Callable[[], None] | None = None
    """Function that has the reader polled at once. It may be called in any thread, such as one in
    which a client receives records. None if readers are polled once per epoch. A reader that calls
    it is still polled as `SourceReader.next_wakeup` tells."""
    delivered: dict[int, list[memoryview]] = field(default_factory=dict)
    """Data that the executor delivers in this epoch, in order, by number of the `Lane`."""

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError; for ``shared``, which is gone, the message names its
        replacement."""
        if name == "shared":
            raise AttributeError(
                "a reader lives as long as its subtask, so ReaderContext has no 'shared': keep "
                "the connection in an attribute of the reader, and close it in "
                "SourceReader.close()"
            )
        raise AttributeError(f"a ReaderContext has no attribute '{name}'")

    def output(self, tag: OutputTag[T], value: T) -> None:
        """Emit a record to a side output, exactly once, like the records that `poll` returns."""
        self.outputs.setdefault(tag, []).append(value)

    def send_split_request(self) -> None:
        """Request another split from the enumerator (`SplitEnumerator.handle_split_request`)."""
        self.split_requested = True

    def send_source_event(self, event: SourceEvent) -> None:
        """Send an event to the enumerator (`SplitEnumerator.handle_source_event`)."""
        self.events.append(event)


class SourceReader(ABC, Generic[T]):
    """Reads the splits of one subtask, a batch at a time.

    A reader stays open between epochs as long as its positions are those that count; after a
    failure another one is made, which gets the splits at the positions of the last accepted epoch.
    Its calls in an epoch: new splits (`add_splits`), events, `notify_checkpoint_complete` if a
    checkpoint was completed since the last epoch, `begin_epoch`, any number of `poll`,
    `snapshot_state`. No call may wait for data.
    """

    @abstractmethod
    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        """Begin to read further splits."""

    @abstractmethod
    def poll(self, max_records: int) -> Sequence[SplitRecords[T]]:
        """The next batches of one or several splits, with at most about ``max_records`` records
        together.

        Nothing, when nothing is there right now: that ends the reader's part of the epoch.
        """

    @abstractmethod
    def snapshot_state(self) -> Mapping[str, Any]:
        """Position after the last polled record, by the id of each unfinished split: picklable,
        comparable with ``==``, small."""

    def begin_epoch(self, max_records_per_split: int) -> None:
        """Begin a round of reading with a target number of records per split; if one split has
        fewer records, other splits may return more.

        An epoch has one round. With resident tasks, each look for new records is a round.
        """

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        """Pause some splits and resume others, for watermark alignment.

        Raises:
            JobExecutionError: the source cannot do so (the default).
        """
        raise JobExecutionError(
            f"{type(self).__name__} cannot pause splits, which watermark alignment "
            "requires; define pause_or_resume_splits(), or remove with_watermark_alignment()"
        )

    def handle_source_event(self, event: SourceEvent) -> None:
        """Handle an event from the enumerator."""

    def notify_no_more_splits(self) -> None:
        """Handle the end of split assignment. Called at most once."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Handle the completion of a checkpoint. If the source has `Source.acknowledges_records`,
        the checkpoint contains the reader's current positions. Otherwise a reader on resident tasks
        may be ahead of the checkpoint: by one epoch, and by a part of another epoch, which may be
        undone.

        For information that systems outside keep, such as the committed offsets of Kafka: a reader
        is not called for every checkpoint.
        """

    def next_wakeup(self, now: int) -> int | None:
        """Time (ms since the epoch) at which records may be available again; None to poll as
        configured."""
        return None

    def close(self) -> None:
        """Release files and connections."""
