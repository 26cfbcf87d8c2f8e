"""A source of Amazon Kinesis Data Streams. Flink docs: "Amazon Kinesis Data Streams"; FLIP-27."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from millrace.common.error_policy import ErrorPolicy, require_error_policy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, ReaderContext, Source, SplitEnumerator
from millrace.connectors.kinesis.client import KinesisProperties
from millrace.connectors.kinesis.enumerator import KinesisEnumerator
from millrace.connectors.kinesis.reader import KinesisReader
from millrace.connectors.kinesis.record_deserializer import (
    KinesisDeserializationSchema,
    RecordDecoder,
    require_schema,
)
from millrace.connectors.kinesis.shard_assigner import KinesisShardAssigner
from millrace.connectors.kinesis.shard_split import InitialPosition

__all__ = ["FlinkKinesisConsumer"]

INITIAL_POSITION = "flink.stream.initpos"
INITIAL_TIMESTAMP = "flink.stream.initpos.timestamp"
DISCOVERY_INTERVAL = "flink.shard.discovery.intervalmillis"
FETCH_INTERVAL = "flink.shard.getrecords.intervalmillis"
FETCH_LIMIT = "flink.shard.getrecords.maxrecordcount"
_OWN = (INITIAL_POSITION, INITIAL_TIMESTAMP, DISCOVERY_INTERVAL, FETCH_INTERVAL, FETCH_LIMIT)
_TEN_SECONDS = 10_000
_FIVE_PER_SECOND = 200
_MOST = 10_000


class FlinkKinesisConsumer(Source[Any]):
    """Reads Kinesis streams, and each shard in order; shards that resharding creates follow their
    parents.

    A source for `from_source`. A record's event time is its time of arrival, unless the
    `WatermarkStrategy` assigns another. Positions are in the checkpoints: exactly once.

    Args:
        streams: name of one stream, or a list.
        deserializer: reads the content of records, or whole records.
        config_props: properties under Flink's names, such as ``aws.region``.

    Raises:
        JobDefinitionError: a stream or property cannot be.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> source = FlinkKinesisConsumer(
        ...     "orders",
        ...     SimpleStringSchema(),
        ...     {"aws.region": "eu-west-1", "flink.stream.initpos": "TRIM_HORIZON"},
        ... )
        >>> source.boundedness.name
        'CONTINUOUS_UNBOUNDED'
    """

    def __init__(
        self,
        streams: str | list[str],
        deserializer: DeserializationSchema[Any] | KinesisDeserializationSchema[Any],
        config_props: Mapping[str, Any],
    ) -> None:
        names = [streams] if isinstance(streams, str) else list(streams)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise JobDefinitionError(f"streams are names of Kinesis streams, not {streams!r}")
        self._streams = names
        self._schema = require_schema(deserializer)
        self._properties = KinesisProperties.of(config_props, _OWN)
        self._initial = _initial_position(self._properties)
        self._timestamp = _initial_timestamp(self._properties, self._initial)
        self._intervals = (
            self._properties.number(DISCOVERY_INTERVAL, _TEN_SECONDS),
            self._properties.number(FETCH_INTERVAL, _FIVE_PER_SECOND),
        )
        self._most = self._properties.number(FETCH_LIMIT, _MOST)
        self._error_policy = ErrorPolicy.fail()
        self._assigner: KinesisShardAssigner | None = None

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Choose the subtasks that read shards; by default, a shard goes to the subtask with the
        fewest.

        Raises:
            JobDefinitionError: the argument is not a `KinesisShardAssigner`.
        """
        if not isinstance(shard_assigner, KinesisShardAssigner):
            raise JobDefinitionError(
                "set_shard_assigner() takes a KinesisShardAssigner such as "
                f"KinesisShardAssigner.uniform_shard_assigner(), not {shard_assigner!r}"
            )
        self._assigner = shard_assigner
        return self

    def set_error_policy(self, error_policy: ErrorPolicy) -> FlinkKinesisConsumer:
        """Choose the error policy for records that cannot be read.

        Raises:
            JobDefinitionError: the argument is not an `ErrorPolicy`.
        """
        self._error_policy = require_error_policy(error_policy)
        return self

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return KinesisEnumerator(
            self._streams,
            self._properties,
            self._initial,
            self._timestamp,
            self._intervals[0],
            self._assigner,
        )

    def create_reader(self, context: ReaderContext) -> KinesisReader:
        decoder = partial(RecordDecoder, self._schema, self._error_policy, context)
        return KinesisReader(self._properties, decoder, self._intervals[1], self._most, context)


def _initial_position(properties: KinesisProperties) -> InitialPosition:
    text = properties.values.get(INITIAL_POSITION, InitialPosition.LATEST.value)
    try:
        return InitialPosition(text)
    except ValueError:
        known = ", ".join(position.value for position in InitialPosition)
        raise JobDefinitionError(f"{INITIAL_POSITION} is one of {known}, not {text!r}") from None


def _initial_timestamp(properties: KinesisProperties, initial: InitialPosition) -> int | None:
    """Start timestamp in ms since 1970; None unless the initial position is AT_TIMESTAMP."""
    if initial is not InitialPosition.AT_TIMESTAMP:
        return None
    text = properties.values.get(INITIAL_TIMESTAMP, "")
    try:
        return int(float(text) * 1000)
    except ValueError:
        pass
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise JobDefinitionError(
            f"AT_TIMESTAMP needs {INITIAL_TIMESTAMP}: seconds since 1970, or a time such as "
            f"2026-01-31T12:00:00+00:00, not {text!r}"
        ) from None
