"""Reader of the partitions of one subtask, with one Kafka consumer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise
from operator import ne
from typing import Any

from millrace.common.functions.metrics import MetricGroup
from millrace.common.source import (
    AssignedSplit,
    ReaderContext,
    SourceEvent,
    SourceReader,
    SplitRecords,
)
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka.client import (
    PATIENCE_S,
    KafkaError,
    ask,
    create_consumer,
    import_confluent_kafka,
    is_transient,
)
from millrace.connectors.kafka.offset_reset import OffsetReset
from millrace.connectors.kafka.partition_split import (
    ContinuedPartitionSplit,
    KafkaPartitionSplit,
    SplitsRemoved,
)
from millrace.connectors.kafka.partition_watch import NewRecords
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition
from millrace.connectors.kafka.value_decoder import ValueDecoder
from millrace.connectors.wake_ups import EMPTY_ROUNDS, SAFETY_MS, MessageWaiter

__all__ = ["KafkaSourceReader"]

_EXPECTANT_EPOCHS = 20
"""Epochs for which it is asked in quick succession when somebody has, or when it is new."""
_BACKLOG = 1_000
"""Records that a partition must have in store for the reader to wait for them."""
_FETCH_PATIENCE_S = 0.2
"""Time to wait for messages in an epoch: the next epoch would cost more than the fetch."""


class _OpenPartition:
    """State of a partition that is being read.

    Args:
        next_offset: offset of the record to read next.
        run_end: the offset at which the run ends, if it is to end before the partition does.
        has_been: whether the job has been at this position before.
    """

    def __init__(
        self,
        split: KafkaPartitionSplit,
        next_offset: int,
        run_end: int | None,
        decoder: ValueDecoder,
        has_been: bool,
    ) -> None:
        self.split_id = split.split_id
        self.place = split.place
        self.goes_on = run_end is not None
        """Whether another run goes on behind the end."""
        self.stop = split.stopping_offset if run_end is None else run_end
        self.next_offset = next_offset
        self.committed = -1
        self.known_end = 0
        """The partition's end, when the consumer was last asked."""
        self.decoder = decoder
        self.caught_up = False
        """Whether the brokers had no more records when it was last heard of."""
        self.paused = False
        self.has_been = has_been
        """Whether the job has read up to the position: it is no offset that a user gave."""

    @property
    def at_end(self) -> bool:
        return self.stop is not None and self.next_offset >= self.stop


class KafkaSourceReader(SourceReader[Any]):
    """Takes the messages that the consumer has fetched in its own threads.

    Args:
        config: configuration of the consumer.
        create_decoder: makes the decoder of a partition.
        commits: whether positions of complete checkpoints are committed to the brokers.
        reset: policy for positions that the brokers do not have, as the consumer reports.
        topics: topics to read; partitions of other topics, which a checkpoint may have, are
            finished, and the enumerator is told their offsets. None to read all.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        create_decoder: Callable[[str], ValueDecoder],
        commits: bool,
        context: ReaderContext,
        reset: OffsetReset,
        topics: Collection[str] | None = None,
    ) -> None:
        self._reset = reset
        self._wanted = topics
        self._kafka = import_confluent_kafka()
        self._config = {**config, "on_commit": self._on_commit}
        self._create_decoder = create_decoder
        self._commits = commits
        self._context = context
        self._consumer: Any = None
        self._open: dict[KafkaTopicPartition, _OpenPartition] = {}
        self._ended: list[_OpenPartition] = []
        """Fully read or empty partitions whose end is not reported yet."""
        self._busy = False
        """Whether records came in this epoch."""
        self._expectant = _EXPECTANT_EPOCHS
        """Epochs in which records may come that somebody has told of."""
        self._left: list[_OpenPartition] = []
        """Partitions that are left to another run."""
        self._assigned = 0
        """Number of partitions that the reader has had so far."""
        self._topics: set[str] = set()
        """Topics of these partitions."""
        self._patience = 0.0
        """Seconds that the reader may still wait in this epoch."""
        self._waiter: MessageWaiter | None = None
        self._empty_rounds = 0
        self._create_metrics(context.metrics)

    def _create_metrics(self, metrics: MetricGroup) -> None:
        metrics.gauge("pendingRecords", self._pending_records)
        self._metrics = metrics.add_group("KafkaSourceReader")
        self._metrics.gauge("recordsLagMax", self._largest_lag)
        self._commits_succeeded = self._metrics.counter("commitsSucceeded")
        self._commits_failed = self._metrics.counter("commitsFailed")

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        if self._consumer is None:
            self._consumer = create_consumer(self._config)
        assigned = []
        removed: dict[str, int] = {}
        for split, position, end in splits:
            at = split.starting_offset if position is None else position
            decoder = self._create_decoder(str(split.place))
            has_been = position is not None or isinstance(split, ContinuedPartitionSplit)
            opened = _OpenPartition(split, at, end, decoder, has_been)
            if not self._is_wanted(split):
                opened.goes_on = False
                removed[split.split_id] = at
            if opened.at_end or split.split_id in removed:
                self._ended.append(opened)
                continue
            self._assigned += 1
            self._topics.add(opened.place.topic)
            self._open[opened.place] = opened
            self._show(opened)
            assigned.append(self._kafka.TopicPartition(*opened.place, at))
        if removed:
            self._context.send_source_event(SplitsRemoved(removed))
        if assigned:
            self._call(lambda: self._consumer.incremental_assign(assigned))

    def _call(self, call: Callable[[], object]) -> None:
        """Make a call to the consumer, in its thread if that waits for messages."""
        if self._waiter is None:
            call()
        else:
            self._waiter.call(call)

    def _is_wanted(self, split: KafkaPartitionSplit) -> bool:
        return self._wanted is None or split.topic in self._wanted

    def remove_splits(self, split_ids: Collection[str]) -> dict[str, int]:
        """Stop reading some splits, and return the next offset of each that was being read."""
        removed = [opened for opened in self._open.values() if opened.split_id in split_ids]
        for opened in removed:
            del self._open[opened.place]
        if removed:
            places = [self._kafka.TopicPartition(*opened.place) for opened in removed]
            self._call(lambda: self._consumer.incremental_unassign(places))
        return {opened.split_id: opened.next_offset for opened in removed}

    def _show(self, opened: _OpenPartition) -> None:
        place = self._metrics.add_group("topic", opened.place.topic)
        group = place.add_group("partition", str(opened.place.partition))
        group.gauge("currentOffset", lambda: opened.next_offset - 1)
        group.gauge("committedOffset", lambda: opened.committed)

    # -- reading -----------------------------------------------------------------------

    def begin_epoch(self, max_records_per_split: int) -> None:
        self._empty_rounds = 0 if self._busy else self._empty_rounds + 1
        self._busy = False
        self._patience = 0.0 if self._context.wake_up is not None else _FETCH_PATIENCE_S
        self._expectant = max(0, self._expectant - 1)

    def handle_source_event(self, event: SourceEvent) -> None:
        if isinstance(event, NewRecords):
            self._expectant = _EXPECTANT_EPOCHS

    def next_wakeup(self, now: int) -> int | None:
        if self._busy:  # more come while the epoch ends
            return now
        if self._context.wake_up is not None:
            return now + SAFETY_MS if self._is_waiting(self._context.wake_up) else None
        watched = all(opened.stop is None for opened in self._open.values())
        if self._expectant or not watched or self._pending_records():
            return None
        return now + SAFETY_MS

    def _is_waiting(self, wake_up: Callable[[], None]) -> bool:
        """Whether a thread waits for the next message, which begins after a few empty rounds."""
        if self._empty_rounds < EMPTY_ROUNDS or not self._open:
            return False
        if self._waiter is None:
            consumer = self._consumer
            self._waiter = MessageWaiter(
                lambda patience: consumer.consume(1, patience), wake_up, "Kafka messages"
            )
        self._waiter.wait()
        return True

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        polled = [self._finished(opened) for opened in self._ended]
        self._ended = []
        if not self._open:
            return polled
        for run in self._runs(self._fetched(max_records)):
            place = KafkaTopicPartition(run[0].topic(), run[0].partition())
            if (opened := self._open.get(place)) is not None:
                polled += self._read(opened, run)
            else:  # an error of no partition, or what was fetched before the end was reached
                for message in run:
                    self._check(message)
        return polled

    def _fetched(self, max_records: int) -> list[Any]:
        """Messages and errors that the consumer has fetched."""
        if self._waiter is not None and self._waiter.is_waiting:
            return []
        try:
            messages: list[Any] = [] if self._waiter is None else self._waiter.take()
            messages += self._consumer.consume(max_records, timeout=0)
            if not messages and self._patience > 0 and self._backlog():
                start = time.monotonic()
                messages = self._consumer.consume(1, timeout=self._patience)
                self._patience -= time.monotonic() - start
                messages += self._consumer.consume(max_records - 1, timeout=0)
        except self._kafka.KafkaException as error:
            raise KafkaError(f"cannot read from Kafka: {error.args[0].str()}") from error
        return messages

    def _backlog(self) -> bool:
        """Whether the brokers have many records that are not fetched yet."""
        readable = (o for o in self._open.values() if not (o.caught_up or o.paused))
        return any(self._lag(opened) >= _BACKLOG for opened in readable)

    def _runs(self, messages: list[Any]) -> Iterable[list[Any]]:
        """Messages split into runs of one partition each."""
        if not messages:
            return ()
        if self._assigned == 1 and _place(messages[0]) in self._open:
            return [messages]
        message = self._kafka.Message
        places: list[Any] = list(map(message.partition, messages))
        if len(self._topics) > 1:
            places = list(zip(map(message.topic, messages), places, strict=True))
        changes = compress(range(1, len(places)), map(ne, places[1:], places))
        return [messages[a:b] for a, b in pairwise((0, *changes, len(places)))]

    def _read(self, opened: _OpenPartition, messages: list[Any]) -> Iterator[SplitRecords[Any]]:
        """Records of a run of messages from one partition."""
        end = messages[-1].offset()
        errors = [e for e in map(self._kafka.Message.error, messages) if e is not None]
        last = messages[-1].error()
        opened.caught_up = last is not None and self._is_end(last)
        if errors:
            end = self._behind(opened, messages) - 1
            messages = [message for message in messages if message.error() is None]
        if opened.stop is not None and end >= opened.stop:
            end = opened.stop - 1  # the next run may go on from here
            messages = [message for message in messages if message.offset() < opened.stop]
        count = len(messages)
        opened.has_been = opened.has_been or count > 0 or any(map(self._is_end, errors))
        self._busy = self._busy or count > 0
        opened.next_offset = max(opened.next_offset, end + 1)
        for batch in opened.decoder.decode(messages):
            count -= len(batch)
            yield SplitRecords(opened.split_id, batch)
        if count > 0:  # read, but not in the batches
            yield SplitRecords(opened.split_id, RowBatch([]), skipped=count)
        if opened.at_end:
            yield self._finish(opened)
        elif any(map(self._is_out_of_range, errors)):
            self._begin_elsewhere(opened)

    def _begin_elsewhere(self, opened: _OpenPartition) -> None:
        """Move a partition whose offset the brokers do not have to the offset that the reset
        policy gives."""
        partition = self._kafka.TopicPartition(*opened.place)
        try:
            bounds = ask(lambda: self._consumer.get_watermark_offsets(partition, PATIENCE_S))
        except self._kafka.KafkaException as error:
            raise KafkaError(
                f"cannot ask Kafka for the first offset of {opened.place}: {error.args[0].str()}"
            ) from error
        opened.next_offset = self._reset.next_offset(
            opened.place, opened.next_offset, bounds, opened.has_been, self._context.logger
        )
        self._consumer.incremental_unassign([partition])
        at = self._kafka.TopicPartition(*opened.place, opened.next_offset)
        self._consumer.incremental_assign([at])
        if opened.paused:
            self._consumer.pause([partition])

    def _behind(self, opened: _OpenPartition, messages: list[Any]) -> int:
        """Next offset after messages that include partition-EOF events. Only transaction markers
        may follow the end."""
        offset = opened.next_offset
        for message in messages:
            error = message.error()
            if error is None:
                offset = message.offset() + 1
            elif self._is_end(error):
                offset = max(offset, message.offset())
            else:
                self._check(message)
        return offset

    def _is_end(self, error: Any) -> bool:
        """Whether the error only signals that a partition has no more records now."""
        return bool(error.code() == self._kafka.KafkaError._PARTITION_EOF)

    def _is_out_of_range(self, error: Any) -> bool:
        """Whether the error signals that the brokers do not have a partition's offset."""
        return bool(error.code() == self._kafka.KafkaError._AUTO_OFFSET_RESET)

    def _check(self, message: Any) -> None:
        error = message.error()
        if error is None or self._is_end(error) or self._is_out_of_range(error):
            return
        if is_transient(error):
            self._context.logger.warning("Kafka: %s", error.str())
            return
        place = f" {message.topic()}-{message.partition()}" if message.topic() else ""
        raise KafkaError(f"cannot read{place} from Kafka: {error.str()}")

    def _finish(self, opened: _OpenPartition) -> SplitRecords[Any]:
        del self._open[opened.place]
        self._consumer.incremental_unassign([self._kafka.TopicPartition(*opened.place)])
        return self._finished(opened)

    def _finished(self, opened: _OpenPartition) -> SplitRecords[Any]:
        if opened.goes_on:
            self._left.append(opened)
            return SplitRecords(opened.split_id, RowBatch([]), at_end=True)
        return SplitRecords(opened.split_id, RowBatch([]), finished=True)

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        for opened in self._open.values():
            opened.paused = opened.split_id in pause or (
                opened.paused and opened.split_id not in resume
            )
        if paused := self._partitions(pause):
            self._call(lambda: self._consumer.pause(paused))
        if resumed := self._partitions(resume):
            self._call(lambda: self._consumer.resume(resumed))

    def _partitions(self, split_ids: Sequence[str]) -> list[Any]:
        partition = self._kafka.TopicPartition
        return [partition(*p) for p, opened in self._open.items() if opened.split_id in split_ids]

    # -- positions ---------------------------------------------------------------------

    def snapshot_state(self) -> Mapping[str, int]:
        opened = [*self._open.values(), *self._ended, *self._left]
        return {partition.split_id: partition.next_offset for partition in opened}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        moved = [o for o in self._open.values() if o.committed != o.next_offset]
        if not self._commits or not moved:
            return
        offsets = [self._kafka.TopicPartition(*o.place, o.next_offset) for o in moved]
        self._call(lambda: self._consumer.commit(offsets=offsets, asynchronous=True))

    def _on_commit(self, error: Any, partitions: list[Any]) -> None:
        for partition in partitions:
            failure = error or partition.error
            opened = self._open.get(KafkaTopicPartition(partition.topic, partition.partition))
            if failure is None and opened is not None:
                opened.committed = partition.offset
        failed = error or next((p.error for p in partitions if p.error is not None), None)
        if failed is None:
            self._commits_succeeded.inc()
        else:
            self._commits_failed.inc()
            self._context.logger.warning("offsets were not committed: %s", failed.str())

    # -- metrics -----------------------------------------------------------------------

    def _pending_records(self) -> int:
        return sum(map(self._lag, self._open.values()))

    def _largest_lag(self) -> int:
        return max(map(self._lag, self._open.values()), default=0)

    def _lag(self, opened: _OpenPartition) -> int:
        """Number of records after the position, as of the last fetch."""
        if self._waiter is None or not self._waiter.is_waiting:
            partition = self._kafka.TopicPartition(*opened.place)
            bounds = self._consumer.get_watermark_offsets(partition, cached=True)
            opened.known_end = 0 if bounds is None else bounds[1]
        # else nothing has come since: the thread has the consumer until something does
        return max(0, opened.known_end - opened.next_offset)

    def close(self) -> None:
        try:
            if self._waiter is not None:
                self._waiter.close()
        finally:
            if self._consumer is not None:
                self._consumer.close()


def _place(message: Any) -> tuple[str | None, int]:
    return message.topic(), message.partition()
