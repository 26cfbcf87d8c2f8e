"""Streams of Kinesis as ingress and egress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisRecord,
    PartitionKeyGenerator,
)
from millrace.connectors.kinesis.client import KINESIS, KinesisProperties
from millrace.connectors.kinesis.resending_writer import BatchLimits, StreamTarget
from millrace.connectors.kinesis.sink import LIMITS
from millrace.connectors.kinesis.writer import KinesisWriter, KinesisWriting
from millrace.statefun.address import Address, TypedValue
from millrace.statefun.application.egress_records import EgressRecords
from millrace.statefun.invocation.batch import RoutableMessage
from millrace.statefun.module.components import (
    AwsCredentials,
    AwsRegion,
    KinesisEgress,
    KinesisIngress,
    Routed,
)
from millrace.statefun.protocol import KINESIS_RECORD, KinesisEgressRecord

__all__ = [
    "KinesisMessage",
    "RoutedKinesisRecords",
    "kinesis_message",
    "kinesis_sink",
    "kinesis_source",
]

_RECORDS = EgressRecords(
    "Kinesis",
    KINESIS_RECORD,
    KinesisEgressRecord,
    "kinesis_egress_message",
    ("stream", "partition_key"),
)
_POSITIONS = {"earliest": "TRIM_HORIZON", "latest": "LATEST", "date": "AT_TIMESTAMP"}


class RoutedKinesisRecords(KinesisDeserializationSchema[tuple[RoutableMessage, ...]]):
    """Deserializer that makes one message per record and target. The record's partition key is
    the id of the address."""

    def __init__(self, streams: Sequence[Routed]) -> None:
        self._streams = {
            routed.topic: (routed.value_type, tuple(tuple(target) for target in routed.targets))
            for routed in streams
        }

    def deserialize(self, record: KinesisRecord) -> tuple[RoutableMessage, ...]:
        value_type, targets = self._streams[record.stream]
        argument = TypedValue(value_type, True, record.data)
        return tuple(
            RoutableMessage(Address(namespace, name, record.partition_key), argument)
            for namespace, name in targets
        )


def kinesis_source(ingress: KinesisIngress) -> FlinkKinesisConsumer:
    """Kinesis source of an ingress. A record of the source is a tuple of messages."""
    position = ingress.startup_position
    properties = {
        **_client_properties(ingress.properties),
        **_place(ingress.region, ingress.credentials),
        "flink.stream.initpos": _POSITIONS[position.type],
    }
    if position.epoch_ms is not None:
        properties["flink.stream.initpos.timestamp"] = f"{position.epoch_ms / 1000:.3f}"
    streams = [routed.topic for routed in ingress.streams]
    return FlinkKinesisConsumer(streams, RoutedKinesisRecords(ingress.streams), properties)


def _place(region: AwsRegion, credentials: AwsCredentials) -> dict[str, str]:
    """Region, endpoint and credentials under the connector's names."""
    given = {
        "aws.region": region.id,
        "aws.endpoint": region.endpoint,
        "aws.credentials.provider.basic.accesskeyid": credentials.access_key_id,
        "aws.credentials.provider.basic.secretkey": credentials.secret_access_key,
        "aws.credentials.provider.profile.name": credentials.profile_name,
        "aws.credentials.provider.profile.path": credentials.profile_path,
    }
    return {name: value for name, value in given.items() if value is not None}


def _client_properties(properties: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Properties of the client under the connector's names."""
    return {f"aws.clientconfig.{name}": value for name, value in properties}


class KinesisMessage(NamedTuple):
    """A record that is to be written to a stream of Kinesis.

    Attributes:
        hash_key: number that determines the shard in place of the key's hash; None if the key
            determines it.
    """

    stream: str
    key: str
    data: bytes
    hash_key: str | None


def kinesis_message(record: TypedValue) -> KinesisMessage:
    """The record that a function gives to the egress.

    Raises:
        SerializationError: the value is no record, or has no stream or partition key.
    """
    parsed = _RECORDS.parsed(record)
    hash_key = parsed.explicit_hash_key or None
    return KinesisMessage(parsed.stream, parsed.partition_key, parsed.value_bytes, hash_key)


class _Data(SerializationSchema[KinesisMessage]):
    def serialize(self, value: KinesisMessage) -> bytes:
        return value.data


def _key(message: KinesisMessage) -> str:
    return message.key


def _hash_key(message: KinesisMessage) -> str | None:
    return message.hash_key


class _RoutedKinesisSink(Sink[KinesisMessage]):
    """Writes each record to the stream that the record names, at least once."""

    def __init__(self, properties: KinesisProperties, limits: BatchLimits) -> None:
        self._properties = properties
        self._limits = limits

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        def writer(stream: str) -> KinesisWriter:
            target = StreamTarget(KINESIS, stream, self._properties, fail_on_error=False)
            keys = PartitionKeyGenerator.of(_key)
            writing = KinesisWriting(target, _Data(), keys, self._limits, _hash_key)
            return KinesisWriter(writing, context)

        return _RoutingWriter(writer)


class _RoutingWriter(SinkWriter[KinesisMessage]):
    """Divides records among the writers of their streams."""

    def __init__(self, writer: Callable[[str], KinesisWriter]) -> None:
        self._create = writer
        self._writers: dict[str, KinesisWriter] = {}

    def write(self, batch: RowBatch[KinesisMessage]) -> None:
        by_stream: dict[str, list[KinesisMessage]] = {}
        for message in batch.values:
            by_stream.setdefault(message.stream, []).append(message)
        for stream, messages in by_stream.items():
            if stream not in self._writers:
                self._writers[stream] = self._create(stream)
            self._writers[stream].write(RowBatch(messages))

    def flush(self, end_of_input: bool) -> None:
        for writer in self._writers.values():
            writer.flush(end_of_input)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


def kinesis_sink(egress: KinesisEgress) -> Sink[KinesisMessage]:
    """Kinesis sink of an egress, for records from `kinesis_message`."""
    properties: Mapping[str, str] = {
        **_client_properties(egress.properties),
        **_place(egress.region, egress.credentials),
    }
    limits = replace(LIMITS, records=min(LIMITS.records, egress.max_outstanding_records))
    return _RoutedKinesisSink(KinesisProperties.of(properties), limits)
