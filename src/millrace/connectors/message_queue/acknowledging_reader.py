"""Reader of a message queue, which acknowledges the messages of complete checkpoints.

After a failure, the queue delivers the messages again that no complete checkpoint contains, because
they are not acknowledged. It may also deliver messages of a complete checkpoint again, if it has
not recorded their acknowledgement. If messages have ids, the reader recognises the latter.

Flink: ``MultipleIdsMessageAcknowledgingSourceBase``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.source import AssignedSplit, ReaderContext, SourceReader, SplitRecords
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.errors import ConnectorError
from millrace.connectors.malformed_records import MalformedRecords
from millrace.connectors.message_queue.queue_client import Delivery, QueueClient
from millrace.connectors.record_decoding import decode_around
from millrace.connectors.wake_ups import SAFETY_MS
from millrace.formats.malformed_record import MalformedRecordError, as_malformed, shown_bytes

__all__ = ["ACKNOWLEDGED_MS", "AcknowledgingReader", "ProcessedIds", "QueueReading", "RESTORED_MS"]

Deserialize = Callable[[Sequence[Delivery]], Batch]
"""The records of several messages, None for what is to be left out."""


class QueueReading:
    """Settings for reading a queue; part of the program.

    Args:
        place: the queue, for messages.
        connect: makes the client of a consumer, by the id of its split.
        deserialize: see `Deserialize`.
        has_ids: whether each message has an id, by which it is recognised.
        missing_id: error text for a message without an id.
        policy: for messages that cannot be read.
        kind: class of the source's errors.
    """

    def __init__(
        self,
        place: str,
        connect: Callable[[str], QueueClient],
        deserialize: Deserialize,
        has_ids: bool,
        missing_id: str,
        policy: ErrorPolicy,
        kind: type[ConnectorError],
    ) -> None:
        self.place = place
        self.connect = connect
        self.deserialize = deserialize
        self.has_ids = has_ids
        self.missing_id = missing_id
        self.policy = policy
        self.kind = kind


class _Consumer:
    """Consumer of one split: its connection and its unacknowledged messages.

    Its position holds the name of the last reader that polled, the number of polled messages, and
    ids. Two readers that continue from the same position never have equal positions again, so a
    reader whose epoch failed is never taken for the other.
    """

    def __init__(self, client: QueueClient, position: Any, now: int) -> None:
        self.client = client
        self.name = uuid.uuid4().hex
        self.polled = 0
        self.tags: list[Any] = []
        self.paused = False
        origin: tuple[str, int]
        origin, restored = position if position is not None else (("", 0), None)
        self._origin = origin
        self.ids = ProcessedIds(restored, now)

    @property
    def position(self) -> Any:
        origin = (self.name, self.polled) if self.polled else self._origin
        return origin, self.ids.snapshot()


class AcknowledgingReader(SourceReader[Any]):
    """Reads the messages of one subtask's consumers."""

    def __init__(self, reading: QueueReading, context: ReaderContext) -> None:
        self._reading = reading
        self._context = context
        self._consumers: dict[str, _Consumer] = {}
        self._busy = False
        policy = reading.policy
        self._malformed = None if policy.fails else MalformedRecords(policy, context, reading.place)
        self._redelivered = context.metrics.counter("numRecordsRedelivered")

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        for split, position, _ in splits:
            client = self._reading.connect(split.split_id)
            client.wake_up = self._context.wake_up
            now = self._context.current_time()
            self._consumers[split.split_id] = _Consumer(client, position, now)

    def begin_epoch(self, max_records_per_split: int) -> None:
        self._busy = False

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        polled = []
        for split_id, consumer in self._consumers.items():
            deliveries = [] if consumer.paused else consumer.client.take(max_records)
            if deliveries:
                self._busy = True
                batches = self._read(consumer, deliveries)
                count = sum(map(len, batches))
                polled += [SplitRecords(split_id, batch) for batch in batches]
                if count < len(deliveries):
                    skipped = len(deliveries) - count
                    polled.append(SplitRecords(split_id, RowBatch([]), skipped=skipped))
        return polled

    def _read(self, consumer: _Consumer, deliveries: list[Delivery]) -> list[Batch]:
        consumer.polled += len(deliveries)
        consumer.tags += [delivery.tag for delivery in deliveries]
        if self._reading.has_ids:
            fresh = [d for d in deliveries if consumer.ids.add(self._id_of(d))]
            self._redelivered.inc(len(deliveries) - len(fresh))
            deliveries = fresh
        return self._decode(deliveries)

    def _id_of(self, delivery: Delivery) -> str:
        if not delivery.message_id:
            raise self._reading.kind(
                f"a message of {self._reading.place} {self._reading.missing_id}"
            )
        return delivery.message_id

    def _decode(self, deliveries: Sequence[Delivery]) -> list[Batch]:
        """Records in order, in several batches around unreadable records."""
        batches = []
        for _, batch in decode_around(deliveries, self._reading.deserialize, self._give_up):
            if isinstance(batch, RowBatch) and None in batch.values:
                batch = RowBatch([value for value in batch.values if value is not None])
            if len(batch):
                batches.append(batch)
        return batches

    def _give_up(self, delivery: Delivery, error: Exception) -> None:
        malformed = as_malformed(error)
        if self._malformed is None:
            raise self._reading.kind(
                f"a message of {self._reading.place} cannot be read: {malformed.reason}: "
                f"{shown_bytes(delivery.body)}; to skip such messages, use error_policy="
                "ErrorPolicy.skip() or side_output()"
            ) from error
        self._malformed.take(MalformedRecordError(malformed.reason, delivery.body, None, None))

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        for split_id in (*pause, *resume):
            self._consumers[split_id].paused = split_id in pause

    def snapshot_state(self) -> Mapping[str, Any]:
        return {split_id: consumer.position for split_id, consumer in self._consumers.items()}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        now = self._context.current_time()
        for consumer in self._consumers.values():
            if consumer.tags:
                consumer.client.acknowledge(consumer.tags)
                consumer.tags = []
            consumer.ids.acknowledged(now)

    def next_wakeup(self, now: int) -> int | None:
        if self._busy:  # more come while the epoch ends
            return now
        # the client wakes the reader
        return None if self._context.wake_up is None else now + SAFETY_MS

    def close(self) -> None:
        for consumer in self._consumers.values():
            consumer.client.close()
        self._consumers = {}


RESTORED_MS = 2 * 3_600_000
"""Milliseconds for which the ids of an earlier reader are kept; queues drop a reader sooner."""
ACKNOWLEDGED_MS = 5_000
"""Milliseconds for which ids are kept after their acknowledgement. A server that is killed may lose
an acknowledgement that it has not yet written to its disk."""


class ProcessedIds:
    """Ids of messages in the position of a reader: messages that the reader has processed, and
    those that the queue may deliver again for a while.

    Args:
        restored: result of `snapshot`, or None.
        now: milliseconds since the epoch.
    """

    def __init__(self, restored: Any, now: int) -> None:
        fresh, kept = restored or ((), ())
        self._fresh: dict[str, None] = {}
        ids = [*fresh, *(message_id for _, some in kept for message_id in some)]
        self._until = dict.fromkeys(ids, now + RESTORED_MS)
        """Ids of messages processed before, with the time at which each is forgotten."""

    def add(self, message_id: str) -> bool:
        """Add the id of a message to process; False if the message was processed before."""
        known = message_id in self._fresh or self._until.pop(message_id, None) is not None
        self._fresh[message_id] = None
        return not known

    def acknowledged(self, now: int) -> None:
        """Mark all processed messages of this reader as acknowledged to the queue."""
        if self._until:
            self._until = {id: until for id, until in self._until.items() if until > now}
        self._until.update(dict.fromkeys(self._fresh, now + ACKNOWLEDGED_MS))
        self._fresh = {}

    def snapshot(self) -> Any:
        """Plain data with the ids, for the reader's position."""
        kept: dict[int, list[str]] = {}
        for message_id, until in self._until.items():
            kept.setdefault(until, []).append(message_id)
        return tuple(self._fresh), tuple((until, tuple(ids)) for until, ids in kept.items())
