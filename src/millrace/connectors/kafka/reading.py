"""Options that all Kafka sources share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

from millrace.common.error_policy import ErrorPolicy, require_error_policy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.connectors.kafka.client import require_properties
from millrace.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from millrace.connectors.kafka.record_deserializer import (
    KafkaRecordDeserializationSchema,
    WithOrigin,
)
from millrace.connectors.kafka.subscription import KafkaSubscription

__all__ = ["KafkaReading", "KafkaReadingBuilder"]

T = TypeVar("T")

CLIENT_ID_PREFIX = "client.id.prefix"
_FAIL = ErrorPolicy.fail()


@dataclass(frozen=True)
class KafkaReading:
    """Settings of a Kafka source."""

    subscription: KafkaSubscription
    schema: KafkaRecordDeserializationSchema[Any]
    starting_offsets: KafkaOffsetsInitializer
    stopping_offsets: KafkaOffsetsInitializer | None
    bounded: bool
    properties: Mapping[str, str] = field(default_factory=dict)
    error_policy: ErrorPolicy = _FAIL
    only_subscribed: bool = False
    """Whether partitions of a checkpoint are left out whose topics are not among these."""


class KafkaReadingBuilder(Generic[T]):
    """Collects the options that all Kafka sources have; names as in PyFlink."""

    def __init__(self) -> None:
        self._schema: KafkaRecordDeserializationSchema[Any] | None = None
        self._starting_offsets = KafkaOffsetsInitializer.earliest()
        self._stopping_offsets: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._properties: dict[str, str] = {}
        self._error_policy = ErrorPolicy.fail()
        self._with_origin = False

    def set_group_id(self, group_id: str) -> Self:
        """Set the consumer group, which is only used for committed offsets."""
        return self.set_property("group.id", group_id)

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Set the start offsets of a job that is not resumed from a checkpoint; by default the
        earliest. Partitions that appear later are read from their first record."""
        self._starting_offsets = _initializer(starting_offsets_initializer)
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """End at the given offsets, in a job that runs as a stream until then."""
        self._stopping_offsets = _initializer(stopping_offsets_initializer)
        self._bounded = False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """End at the given offsets; the source is bounded."""
        self.set_unbounded(stopping_offsets_initializer)
        self._bounded = True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema[Any]
    ) -> Self:
        """Read the values with a schema, and ignore all other parts of a record.

        Raises:
            JobDefinitionError: the argument is not a `DeserializationSchema`.
        """
        self._schema = KafkaRecordDeserializationSchema.value_only(deserialization_schema)
        return self

    def set_deserializer(
        self, kafka_record_deserialization_schema: KafkaRecordDeserializationSchema[Any]
    ) -> Self:
        """Read whole records with a schema.

        Raises:
            JobDefinitionError: the argument is not a `KafkaRecordDeserializationSchema`.
        """
        schema = kafka_record_deserialization_schema
        if not isinstance(schema, KafkaRecordDeserializationSchema):
            raise JobDefinitionError(
                f"set_deserializer() takes a KafkaRecordDeserializationSchema, not {schema!r}"
            )
        self._schema = schema
        return self

    def set_client_id_prefix(self, prefix: str) -> Self:
        """Set the prefix of the client ids of the consumers."""
        return self.set_property(CLIENT_ID_PREFIX, prefix)

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of the consumers, or ``partition.discovery.interval.ms`` (default
        300000; 0 or less means never) or ``commit.offsets.on.checkpoint`` (default true)."""
        return self.set_properties({key: value})

    def set_properties(self, props: Mapping[str, str]) -> Self:
        """Set several properties.

        Raises:
            JobDefinitionError: they are not names and texts or numbers.
        """
        self._properties |= require_properties(props)
        return self

    def set_error_policy(self, error_policy: ErrorPolicy) -> Self:
        """Choose the error policy for records that cannot be read.

        Raises:
            JobDefinitionError: the argument is not an `ErrorPolicy`.
        """
        self._error_policy = require_error_policy(error_policy)
        return self

    def with_origin(self) -> Self:
        """Return pairs of each record and its `KafkaOrigin`: topic, partition, offset, ..."""
        self._with_origin = True
        return self

    def _reading(
        self, source: str, subscription: KafkaSubscription, required: Mapping[str, bool]
    ) -> KafkaReading:
        """Settings that the builder collected.

        Args:
            source: its name, for messages.
            required: calls, and whether they were made.

        Raises:
            JobDefinitionError: one was not.
        """
        group = self._has_group()
        asked = {
            **required,
            "set_value_only_deserializer()": self._schema is not None,
            "set_group_id(), because committed offsets are a group's": group,
        }
        for call, present in asked.items():
            if not present:
                raise JobDefinitionError(f"a {source} needs {call}")
        assert self._schema is not None
        return KafkaReading(
            subscription,
            WithOrigin(self._schema) if self._with_origin else self._schema,
            self._starting_offsets,
            self._stopping_offsets,
            self._bounded,
            dict(self._properties),
            self._error_policy,
        )

    def _has_group(self) -> bool:
        asked = [self._starting_offsets, self._stopping_offsets]
        needed = any(offsets is not None and offsets.needs_group for offsets in asked)
        return not needed or "group.id" in self._properties


def _initializer(initializer: Any) -> KafkaOffsetsInitializer:
    if not isinstance(initializer, KafkaOffsetsInitializer):
        raise JobDefinitionError(
            f"offsets are chosen by a KafkaOffsetsInitializer such as latest(), not {initializer!r}"
        )
    return initializer
