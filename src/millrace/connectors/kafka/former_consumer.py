"""The Kafka source of programs written for Flink 1. Flink: class ``FlinkKafkaConsumer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, ReaderContext, Source, SplitEnumerator
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types
from millrace.connectors.kafka.client import require_properties
from millrace.connectors.kafka.offset_reset import RESET_OPTION, OffsetReset
from millrace.connectors.kafka.offsets_initializer import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
)
from millrace.connectors.kafka.reader import KafkaSourceReader
from millrace.connectors.kafka.source import COMMIT_OFFSETS, DISCOVERY_INTERVAL, KafkaSource

__all__ = ["FlinkKafkaConsumer"]

_FORMER_DISCOVERY_INTERVAL = "flink.partition-discovery.interval-millis"
_NEVER = "-1"
_RESETS = {
    "earliest": KafkaOffsetResetStrategy.EARLIEST,
    "error": KafkaOffsetResetStrategy.NONE,
    "latest": KafkaOffsetResetStrategy.LATEST,
}


class FlinkKafkaConsumer(Source[Any], ResultTypeQueryable):
    """Reads topics of Kafka as a `KafkaSource` does, with the methods and defaults of Flink 1.

    It is a source for ``add_source`` and ``from_source``. Unless told otherwise it begins at the
    offsets that its group has committed, or else where ``auto.offset.reset`` says (``latest``), and
    looks for new partitions only if ``flink.partition-discovery.interval-millis`` is set.

    Args:
        topics: name of one topic, or a list.
        deserialization_schema: reads the values.
        properties: properties of the consumers, with ``bootstrap.servers``.

    Raises:
        JobDefinitionError: topics, schema or brokers are missing.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> consumer = FlinkKafkaConsumer(
        ...     "orders",
        ...     SimpleStringSchema(),
        ...     {"bootstrap.servers": "localhost:9092", "group.id": "shop"},
        ... )
        >>> consumer.set_start_from_earliest().boundedness.name
        'CONTINUOUS_UNBOUNDED'
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        deserialization_schema: DeserializationSchema[Any],
        properties: Mapping[str, str],
    ) -> None:
        given = require_properties(properties)
        interval = given.pop(_FORMER_DISCOVERY_INTERVAL, _NEVER)
        self._properties = {DISCOVERY_INTERVAL: interval} | given
        if "bootstrap.servers" not in given:
            raise JobDefinitionError(
                "a FlinkKafkaConsumer needs the property 'bootstrap.servers', such as "
                "'localhost:9092'"
            )
        self._topics = (topics,) if isinstance(topics, str) else tuple(topics)
        self._builder().set_topics(*self._topics).set_value_only_deserializer(
            deserialization_schema
        )
        self._schema = deserialization_schema
        self._starting: KafkaOffsetsInitializer | None = None
        self._keeps_restored = False

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> Self:
        """Set whether the offsets of a complete checkpoint are committed to the brokers, for
        monitoring; by default they are.
        """
        self._properties[COMMIT_OFFSETS] = "true" if commit_on_checkpoints else "false"
        return self

    def set_start_from_earliest(self) -> Self:
        """Start from the earliest records. A job that is resumed continues at its checkpoint."""
        self._starting = KafkaOffsetsInitializer.earliest()
        return self

    def set_start_from_latest(self) -> Self:
        """Start after the latest records. A job that is resumed continues at its checkpoint."""
        self._starting = KafkaOffsetsInitializer.latest()
        return self

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> Self:
        """Start from the first records with this timestamp, in ms since 1970, or a later one. A job
        that is resumed continues at its checkpoint.

        Raises:
            JobDefinitionError: the argument is not such a number.
        """
        self._starting = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        return self

    def set_start_from_group_offsets(self) -> Self:
        """Start at the committed offsets of the group in the property ``group.id``: the default.
        A job that is resumed continues at its checkpoint."""
        self._starting = None
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> Self:
        """Continue all partitions of a checkpoint, including partitions of topics that are no
        longer subscribed. By default, the source leaves out such partitions.
        """
        self._keeps_restored = True
        return self

    def get_produced_type(self) -> TypeInformation[Any]:
        """The schema's produced type; pickled bytes of Python objects if the schema declares
        none."""
        if isinstance(self._schema, ResultTypeQueryable):
            return self._schema.get_produced_type()
        return Types.PICKLED_BYTE_ARRAY()

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        """Always true, as for a `KafkaSource`."""
        return True

    def create_enumerator(self) -> SplitEnumerator:
        return self._source().create_enumerator()

    def create_reader(self, context: ReaderContext) -> KafkaSourceReader:
        return self._source().create_reader(context)

    def _builder(self) -> Any:
        return KafkaSource.builder().set_properties(self._properties)

    def _source(self) -> KafkaSource[Any]:
        """The underlying `KafkaSource`.

        Raises:
            JobDefinitionError: committed offsets are asked for, and there is no group.
        """
        starting = self._starting
        if starting is None:
            starting = self._group_offsets()
        builder = self._builder().set_topics(*self._topics).set_starting_offsets(starting)
        source: KafkaSource[Any] = builder.set_value_only_deserializer(self._schema).build()
        return source if self._keeps_restored else source.of_subscribed_topics()

    def _group_offsets(self) -> KafkaOffsetsInitializer:
        if "group.id" not in self._properties:
            raise JobDefinitionError(
                "a FlinkKafkaConsumer starts at the committed offsets of its group: set the "
                "property 'group.id', or call set_start_from_earliest() or "
                "set_start_from_latest()"
            )
        reset = OffsetReset.of(self._properties.get(RESET_OPTION, "latest"), is_asked_for=True)
        if reset is None:
            raise JobDefinitionError(
                f"the property '{RESET_OPTION}' is earliest, latest or none, not "
                f"'{self._properties[RESET_OPTION]}'"
            )
        return KafkaOffsetsInitializer.committed_offsets(_RESETS[reset.policy])
