"""Start and end offsets of reading in each partition. Flink docs: "Kafka", Starting Offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.connectors.kafka.client import KafkaError, import_confluent_kafka
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer"]

REQUEST_TIMEOUT_S = 30.0


class KafkaOffsetResetStrategy(Enum):
    """Handling of an offset that does not exist, or no longer exists."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2
    """The job fails."""


class _Kind(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Chooses an offset for each partition, for the start or the end of reading.

    Example:
        >>> KafkaOffsetsInitializer.timestamp(1_700_000_000_000).reset.name
        'LATEST'
    """

    kind: _Kind
    reset: KafkaOffsetResetStrategy
    at: int = 0
    """Timestamp of `timestamp`, in ms since the epoch."""
    chosen: Mapping[KafkaTopicPartition, int] = field(default_factory=dict)
    """Offsets of `offsets`."""

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Initializer for the first available record."""
        return KafkaOffsetsInitializer(_Kind.EARLIEST, KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Initializer for the position after the last record that exists when the partition is
        found.
        """
        return KafkaOffsetsInitializer(_Kind.LATEST, KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Initializer for the committed offsets of the consumer group; if an offset is not
        committed, the strategy decides.

        Raises:
            JobDefinitionError: the argument is not a `KafkaOffsetResetStrategy`.
        """
        return KafkaOffsetsInitializer(_Kind.COMMITTED, _strategy(offset_reset_strategy))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Initializer for the first record with this timestamp (ms since the epoch) or a later one;
        if there is none, the position after the last record.

        Raises:
            JobDefinitionError: the argument is not a whole number from 0.
        """
        if not isinstance(timestamp, int) or timestamp < 0:
            raise JobDefinitionError(f"timestamp() takes ms since the epoch, not {timestamp!r}")
        return KafkaOffsetsInitializer(_Kind.TIMESTAMP, KafkaOffsetResetStrategy.LATEST, timestamp)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Initializer for the given offsets; for other partitions, the strategy decides.

        Raises:
            JobDefinitionError: a key is no partition, or a value no offset.
        """
        for place, offset in offsets.items():
            if not isinstance(place, KafkaTopicPartition):
                raise JobDefinitionError(
                    "offsets() takes a dict of offsets by KafkaTopicPartition(topic, partition); "
                    f"{place!r} is none"
                )
            if not isinstance(offset, int) or offset < 0:
                raise JobDefinitionError(f"the offset of {place} is a number from 0: {offset!r}")
        reset = _strategy(offset_reset_strategy)
        return KafkaOffsetsInitializer(_Kind.OFFSETS, reset, 0, dict(offsets))

    @property
    def needs_group(self) -> bool:
        """Whether the initializer needs the committed offsets of a consumer group."""
        return self.kind is _Kind.COMMITTED

    def resolve(
        self, places: Iterable[KafkaTopicPartition], consumer: Any
    ) -> dict[KafkaTopicPartition, int]:
        """Offsets of the given partitions, determined by requests to the brokers.

        Raises:
            KafkaError: there is none, and the strategy is NONE.
        """
        wanted = list(places)
        match self.kind:
            case _Kind.TIMESTAMP:
                offsets = _at(wanted, self.at, consumer)
            case _Kind.COMMITTED:
                offsets = _committed(wanted, consumer)
            case _Kind.OFFSETS:
                offsets = {place: at for place, at in self.chosen.items() if place in wanted}
            case _:
                offsets = {}
        return offsets | self._reset_to(consumer, [p for p in wanted if p not in offsets])

    def _reset_to(
        self, consumer: Any, places: list[KafkaTopicPartition]
    ) -> dict[KafkaTopicPartition, int]:
        if not places:
            return {}
        if self.reset is KafkaOffsetResetStrategy.NONE:
            named = ", ".join(map(str, places))
            raise KafkaError(
                f"there is no {self.kind.value} offset of {named}. Choose where to start "
                "without one, for example "
                "committed_offsets(KafkaOffsetResetStrategy.EARLIEST)"
            )
        first = self.reset is KafkaOffsetResetStrategy.EARLIEST
        return {place: _bounds(place, consumer)[0 if first else 1] for place in places}


def _strategy(strategy: Any) -> KafkaOffsetResetStrategy:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise JobDefinitionError(
            "the reset strategy must be a KafkaOffsetResetStrategy such as EARLIEST, not "
            f"{strategy!r}"
        )
    return strategy


def _bounds(place: KafkaTopicPartition, consumer: Any) -> tuple[int, int]:
    """First offset, and the offset after the last record."""
    partition = import_confluent_kafka().TopicPartition(*place)
    first, end = consumer.get_watermark_offsets(partition, timeout=REQUEST_TIMEOUT_S)
    return first, end


def _at(
    places: list[KafkaTopicPartition], timestamp: int, consumer: Any
) -> dict[KafkaTopicPartition, int]:
    partition = import_confluent_kafka().TopicPartition
    asked = [partition(*place, timestamp) for place in places]
    return _offsets(consumer.offsets_for_times(asked, timeout=REQUEST_TIMEOUT_S))


def _committed(places: list[KafkaTopicPartition], consumer: Any) -> dict[KafkaTopicPartition, int]:
    partition = import_confluent_kafka().TopicPartition
    asked = [partition(*place) for place in places]
    return _offsets(consumer.committed(asked, timeout=REQUEST_TIMEOUT_S))


def _offsets(answers: list[Any]) -> dict[KafkaTopicPartition, int]:
    for answer in answers:
        if answer.error is not None:
            raise KafkaError(
                f"no offset of {answer.topic}-{answer.partition}: {answer.error.str()}"
            )
    return {
        KafkaTopicPartition(answer.topic, answer.partition): answer.offset
        for answer in answers
        if answer.offset >= 0
    }
