"""Enumerator of a Kafka source: finds partitions, also while the job runs, and notices new
records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from millrace.common.source import EnumeratorContext, SourceEvent, SourceSplit, SplitEnumerator
from millrace.connectors.kafka.client import (
    KafkaError,
    ask,
    client_config,
    create_consumer,
    import_confluent_kafka,
)
from millrace.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from millrace.connectors.kafka.partition_split import KafkaPartitionSplit, SplitsRemoved
from millrace.connectors.kafka.partition_watch import NewRecords, PartitionWatch
from millrace.connectors.kafka.subscription import KafkaSubscription
from millrace.connectors.kafka.topic_ids import (
    RecreatedTopicError,
    require_same_topics,
    topic_ids,
)
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["KafkaEnumerator"]

T = TypeVar("T")

WATCH_INTERVAL = 20
"""Milliseconds between looks for new records; one takes the broker half of one."""
_SLOW_WATCH = 1_000
"""Milliseconds between looks if readers find new records by themselves."""
_LOOK_AGAIN = 100
"""Milliseconds until it is seen whether the brokers have answered."""


class KafkaEnumerator(SplitEnumerator):
    """Finds partitions. Its state holds the known partitions, and the offsets of partitions that
    are no longer read: if their topic is subscribed again, reading continues at these offsets.

    Args:
        config: configuration of the consumer that queries the brokers.
        discovery_interval: ms between looks for new partitions; None for a single look.
        topics: topics that readers read; they leave out partitions of other topics, which a
            checkpoint may have. None if they read all.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        subscription: KafkaSubscription,
        starting_offsets: KafkaOffsetsInitializer,
        stopping_offsets: KafkaOffsetsInitializer | None,
        discovery_interval: int | None,
        topics: Collection[str] | None = None,
    ) -> None:
        self._wanted = topics
        self._left: dict[str, int] = {}
        """Offsets of partitions that readers no longer read, by split id."""
        self._config = config
        self._subscription = subscription
        self._starting = starting_offsets
        self._stopping = stopping_offsets
        self._interval = discovery_interval
        self._known: set[KafkaTopicPartition] | None = None
        self._topic_ids: dict[str, str] = {}
        self._looked = False
        self._next = 0
        self._consumer: Any = None
        self._refusal: str | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._looking: Future[list[KafkaPartitionSplit]] | None = None
        self._context = EnumeratorContext(1)
        self._watch: PartitionWatch | None = None
        self._available_now = False
        self._looked_now = False
        """Whether an available-now run has found its partitions."""
        self._ends: dict[KafkaTopicPartition, int] = {}
        """End offsets of an available-now run."""

    def start(self, context: EnumeratorContext) -> None:
        self._context = context

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self._looked and self.no_more_splits():
            return ()
        if not self._looked or (self._available_now and not self._looked_now):
            # the job has nothing to do before, or may not: a topic may be another one
            partitions = self._look()
            self._looked = True
            self._looked_now = self._available_now
            self._next = now + (self._interval or 0)
            return self._new(partitions)
        shrunk = self._watch_records()
        if self._looking is None and not shrunk and (self._interval is None or now < self._next):
            return ()
        if self._looking is None:
            self._pool = self._pool or ThreadPoolExecutor(1, "kafka-partitions")
            self._looking = self._pool.submit(self._look)
        if not self._looking.done():
            self._next = now + _LOOK_AGAIN
            return ()
        looked, self._looking = self._looking, None
        self._next = now + (self._interval or 0)
        return self._new(self._answer(looked))

    def _watch_records(self) -> bool:
        """Tell readers of new records, and return whether a partition has fewer records than
        before."""
        if self._watch is None:
            self._watch = PartitionWatch(client_config(self._config))
        # readers that look themselves are watched for topics that are made anew
        if self._watch.look(self._read()) and not self._context.readers_look:
            for subtask in range(self._context.parallelism):
                self._context.send_source_event(subtask, NewRecords())
        return self._watch.shrunk

    def prepare_for_available_now(self, now: int) -> None:
        self._available_now = True
        self._ends = self._asked(lambda: self._ends_of(self._read()))

    def _read(self) -> Collection[KafkaTopicPartition]:
        """Known partitions that readers read."""
        known, topics = self._known or set(), self._wanted
        return known if topics is None else {place for place in known if place.topic in topics}

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        if isinstance(event, SplitsRemoved):
            self._left |= event.offsets
            self._known = {p for p in self._known or set() if str(p) not in event.offsets}
            self._context.logger.info("no longer read: %s", ", ".join(sorted(event.offsets)))

    def available_now_end(self, split: KafkaPartitionSplit) -> int | None:
        """Offset at which an available-now run ends; None if the split itself has an end."""
        return self._ends.get(split.place) if split.stopping_offset is None else None

    def _ends_of(self, places: Iterable[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        latest = KafkaOffsetsInitializer.latest()
        return latest.resolve(sorted(places), self._connected())

    def _answer(self, looked: Future[list[KafkaPartitionSplit]]) -> list[KafkaPartitionSplit]:
        try:
            return looked.result()
        except RecreatedTopicError:
            raise
        except KafkaError as error:
            self._context.logger.warning("cannot look for new partitions now: %s", error)
            return []

    def _look(self) -> list[KafkaPartitionSplit]:
        """Partitions that exist and were not known before."""
        return self._asked(self._new_splits)

    def _asked(self, question: Callable[[], T]) -> T:
        kafka, servers = import_confluent_kafka(), self._config["bootstrap.servers"]

        def asked() -> T:
            try:
                return question()
            except kafka.KafkaException as error:
                if self._consumer is not None:
                    self._consumer.poll(0)  # has the client tell its errors
                if self._refusal is None:
                    raise
                raise KafkaError(f"Kafka at {servers} refuses the job: {self._refusal}") from error

        try:
            return ask(asked)
        except kafka.KafkaException as error:
            raise KafkaError(
                f"Kafka at {servers} does not list its partitions: {error.args[0].str()}"
            ) from error

    def _note_refusal(self, error: Any) -> None:
        """Record a wrong password or certificate, for which the client only retries."""
        kinds = import_confluent_kafka().KafkaError
        if error.code() in (kinds._AUTHENTICATION, kinds._SSL):
            self._refusal = error.str()

    def _new_splits(self) -> list[KafkaPartitionSplit]:
        consumer, known = self._connected(), self._known
        partitions = self._subscription.find(consumer)
        identities = topic_ids(client_config(self._config), {place.topic for place in partitions})
        require_same_topics(self._topic_ids, identities)
        self._topic_ids |= identities
        new = sorted(partitions - (known or set()))
        # what appears while the job runs is new as a whole
        starting = self._starting if known is None else KafkaOffsetsInitializer.earliest()
        first = starting.resolve(new, consumer)
        stop = self._stopping.resolve(new, consumer) if self._stopping is not None else {}
        if self._available_now:
            self._ends.update(self._ends_of(new))
        splits = [KafkaPartitionSplit(str(p), *p, first[p], stop.get(p)) for p in new]
        left = self._left
        return [s.continued_at(left[s.split_id]) if s.split_id in left else s for s in splits]

    def _connected(self) -> Any:
        if self._consumer is None:
            self._consumer = create_consumer({**self._config, "error_cb": self._note_refusal})
        return self._consumer

    def _new(self, splits: list[KafkaPartitionSplit]) -> list[KafkaPartitionSplit]:
        self._known = (self._known or set()) | {split.place for split in splits}
        for split in splits:
            self._left.pop(split.split_id, None)
        if splits:
            places = ", ".join(f"{split.place}@{split.starting_offset}" for split in splits)
            self._context.logger.info("reading partitions %s", places)
        return splits

    def no_more_splits(self) -> bool:
        if self._available_now:
            return self._looked_now
        return self._stopping is not None and self._known is not None

    def next_discovery(self, now: int) -> int | None:
        if self.no_more_splits():
            return None
        watch = now + (_SLOW_WATCH if self._context.readers_look else WATCH_INTERVAL)
        return watch if self._interval is None else min(watch, self._next)

    def snapshot_state(self) -> dict[str, Any] | None:
        if self._known is None:
            return None
        places = sorted((place.topic, place.partition) for place in self._known)
        state = {"partitions": places, "topics": dict(self._topic_ids)}
        return {**state, "left": dict(self._left)} if self._left else state

    def restore_state(self, state: dict[str, Any] | None) -> None:
        if state is not None:
            self._known = {KafkaTopicPartition(*place) for place in state["partitions"]}
            self._topic_ids = dict(state["topics"])
            self._left = dict(state.get("left", {}))

    def close(self) -> None:
        self._watch = None
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        if self._consumer is not None:
            self._consumer.close()
