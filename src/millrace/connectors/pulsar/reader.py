"""Reader of the partitions of one subtask, with one client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from millrace.common.source import (
    AssignedSplit,
    ReaderContext,
    SourceEvent,
    SourceReader,
    SplitRecords,
)
from millrace.common.types.batch import RowBatch
from millrace.connectors.pulsar.client import (
    PulsarProperties,
    create_client,
    explained,
    import_pulsar,
)
from millrace.connectors.pulsar.cursor import StopCursor
from millrace.connectors.pulsar.message_position import EARLIEST, MessagePosition
from millrace.connectors.pulsar.partition_split import PulsarPartitionSplit
from millrace.connectors.pulsar.record_deserializer import MessageDecoder
from millrace.connectors.pulsar.subscription import ask
from millrace.connectors.wake_ups import EMPTY_ROUNDS, SAFETY_MS, MessageWaiter

__all__ = ["PulsarReader", "ReadUpTo"]

_FETCH_PATIENCE_S = 0.05
"""Time that an epoch waits for further messages: another epoch would cost more."""
_MOMENT_MS = 10
_MOST_WAITERS = 16
"""Partitions for which threads wait. A reader that has more is polled."""


@dataclass(frozen=True)
class ReadUpTo(SourceEvent):
    """Positions up to which a complete checkpoint has read."""

    positions: Mapping[str, MessagePosition]


class _OpenPartition:
    """State of a partition that is being read.

    Args:
        position: position of the last message that was read.
        run_end: the last message of the run, if it ends before the partition does.
    """

    def __init__(
        self,
        split: PulsarPartitionSplit,
        position: MessagePosition | None,
        run_end: MessagePosition | None,
        decoder: MessageDecoder,
    ) -> None:
        self.split = split
        self.position = position
        self.goes_on = run_end is not None
        """Whether another run goes on behind the end."""
        self.stop = split.stop if run_end is None else run_end
        self.decoder = decoder
        self.reader: Any = None
        self.waiter: MessageWaiter | None = None
        self.acknowledged = position
        self.last_publish_time = 0
        self.paused = False
        self.ended = False

    @property
    def at_end(self) -> bool:
        stop = self.stop
        if stop is None:
            return self.ended
        begun = self.split.start if self.position is None else self.position
        # nothing was there: a partition's first message has the entry 0
        nothing = stop.entry < 0 or (self.position is None and begun > stop)
        return self.ended or nothing or (self.position is not None and begun >= stop)


class PulsarReader(SourceReader[Any]):
    """Takes the messages that the client has fetched in its own threads.

    Args:
        create_decoder: makes the decoder of a partition.
        queue: messages that the client fetches ahead of each partition.
        clock: seconds; replaced by tests.
    """

    def __init__(
        self,
        properties: PulsarProperties,
        create_decoder: Callable[[str], MessageDecoder],
        stop: StopCursor,
        queue: int,
        context: ReaderContext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._properties = properties
        self._create_decoder = create_decoder
        self._stop = stop
        self._queue = queue
        self._context = context
        self._clock = clock
        self._pulsar = import_pulsar()
        self._client: Any = None
        self._open: dict[str, _OpenPartition] = {}
        self._left: list[_OpenPartition] = []
        """Partitions that are left to another run."""
        self._busy = False
        """Whether messages came in this epoch."""
        self._empty_rounds = 0
        self._patience = 0.0
        self._metrics = context.metrics.add_group("PulsarSourceReader")

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        if self._client is None:
            self._client = create_client(self._properties)
        for split, position, end in splits:
            decoder = self._create_decoder(split.split_id)
            opened = _OpenPartition(split, position, end, decoder)
            self._open[split.split_id] = opened
            if not opened.at_end:
                self._begin(opened)
            self._show(opened)

    def _begin(self, opened: _OpenPartition) -> None:
        split, position = opened.split, opened.position
        inclusive = position is None and split.inclusive and split.start != EARLIEST
        start = split.start if position is None else position
        place = self._pulsar.MessageId.earliest if start == EARLIEST else start.message_id()
        topic = split.split_id
        opened.reader = ask(
            lambda: self._client.create_reader(
                topic,
                place,
                receiver_queue_size=self._queue,
                start_message_id_inclusive=inclusive,
            ),
            topic,
            "read",
        )
        if position is None and split.publish_time is not None:
            ask(lambda: opened.reader.seek(split.publish_time), topic, "find a time in")

    def _show(self, opened: _OpenPartition) -> None:
        group = self._metrics.add_group("topic", opened.split.split_id)
        group.gauge("lastPublishTime", lambda: opened.last_publish_time)

    def begin_epoch(self, max_records_per_split: int) -> None:
        self._empty_rounds = 0 if self._busy else self._empty_rounds + 1
        self._busy = False
        # a reader that is polled again at once has no need to wait
        self._patience = 0.0 if self._context.wake_up is not None else _FETCH_PATIENCE_S

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        readable = [opened for opened in self._open.values() if not opened.paused]
        share = max(1, max_records // max(1, len(readable)))
        polled: list[SplitRecords[Any]] = []
        for opened in readable:
            if not opened.at_end:
                polled += self._read(opened, self._fetched(opened, share))
            if opened.at_end:
                polled.append(self._finish(opened))
        return polled

    def _fetched(self, opened: _OpenPartition, most: int) -> list[Any]:
        """Messages that the client has fetched; waits briefly for further ones."""
        if opened.waiter is not None and opened.waiter.is_waiting:
            return []
        read_next, wait = opened.reader.read_next, 0
        until = self._clock() + self._patience
        try:
            messages: list[Any] = [] if opened.waiter is None else opened.waiter.take()
            while len(messages) < most:
                try:
                    messages.append(read_next(wait))
                    wait = 0
                except self._pulsar.Timeout:
                    if wait or not messages or self._clock() >= until:
                        break
                    wait = _MOMENT_MS
        except Exception as error:  # whatever kinds the client has
            raise explained(error, opened.split.split_id, "read") from error
        if messages:
            self._patience = max(0.0, min(self._patience, until - self._clock()))
        return messages

    def _read(self, opened: _OpenPartition, messages: list[Any]) -> Iterator[SplitRecords[Any]]:
        """Records of a partition's messages."""
        if not messages:
            return
        self._busy = True
        messages = self._within(opened, messages)
        if not messages:
            return
        opened.position = MessagePosition.of(messages[-1].message_id())
        opened.last_publish_time = messages[-1].publish_timestamp()
        count = len(messages)
        for batch in opened.decoder.decode(messages):
            count -= len(batch)
            yield SplitRecords(opened.split.split_id, batch)
        if count > 0:  # read, but not in the batches
            yield SplitRecords(opened.split.split_id, RowBatch([]), skipped=count)

    def _within(self, opened: _OpenPartition, messages: list[Any]) -> list[Any]:
        """Messages before the end of the partition."""
        stop = opened.stop
        if stop is not None and MessagePosition.of(messages[-1].message_id()) > stop:
            opened.ended = True
            messages = [m for m in messages if MessagePosition.of(m.message_id()) <= stop]
        if self._stop.by_time:
            for index, message in enumerate(messages):
                if self._stop.excludes(message.publish_timestamp(), message.event_timestamp()):
                    opened.ended, opened.goes_on = True, False
                    return messages[:index]
        return messages

    def _finish(self, opened: _OpenPartition) -> SplitRecords[Any]:
        del self._open[opened.split.split_id]
        if opened.waiter is not None:
            opened.waiter.close()
        if opened.reader is not None:
            opened.reader.close()
        if opened.goes_on:
            self._left.append(opened)
            return SplitRecords(opened.split.split_id, RowBatch([]), at_end=True)
        return SplitRecords(opened.split.split_id, RowBatch([]), finished=True)

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        for split_id, opened in self._open.items():
            opened.paused = split_id in pause or (opened.paused and split_id not in resume)

    def next_wakeup(self, now: int) -> int | None:
        if self._busy:  # more come while the epoch ends
            return now
        wake_up = self._context.wake_up
        if wake_up is None or self._empty_rounds < EMPTY_ROUNDS or len(self._open) > _MOST_WAITERS:
            return None
        for opened in self._open.values():
            if not opened.paused:
                self._wait(opened, wake_up)
        return now + SAFETY_MS

    def _wait(self, opened: _OpenPartition, wake_up: Callable[[], None]) -> None:
        """Have a thread wait for the next message of a partition."""
        if opened.waiter is None:
            read_next, timed_out = opened.reader.read_next, self._pulsar.Timeout

            def consume(patience: float) -> list[Any]:
                try:
                    return [read_next(int(patience * 1000))]
                except timed_out:
                    return []

            opened.waiter = MessageWaiter(consume, wake_up, "Pulsar messages")
        opened.waiter.wait()

    def snapshot_state(self) -> Mapping[str, MessagePosition | None]:
        opened = [*self._open.values(), *self._left]
        return {partition.split.split_id: partition.position for partition in opened}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        moved = [o for o in self._open.values() if o.position and o.position != o.acknowledged]
        positions = {o.split.split_id: o.position for o in moved if o.position is not None}
        for opened in moved:
            opened.acknowledged = opened.position
        if positions:
            self._context.send_source_event(ReadUpTo(positions))

    def close(self) -> None:
        waiters = [opened.waiter for opened in self._open.values() if opened.waiter is not None]
        for waiter in waiters:
            waiter.end()
        for waiter in waiters:
            waiter.close()
        if self._client is not None:
            with suppress(Exception):  # whatever kinds the client has: the brokers may be away
                self._client.close()
