"""Options of tables over topics, and the Kafka readers and writers made from them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from millrace.connectors.kafka.partitioner import FixedPartitioner, RoundRobinPartitioner
from millrace.connectors.kafka.source import DISCOVERY_INTERVAL, KafkaSourceBuilder
from millrace.planner.execution.table_factory import OptionValues
from millrace.table.formats.format_choice import chosen

__all__ = ["PROPERTIES", "partitioner_of", "source_builder", "topic_sink"]

TOPIC = ConfigOptions.key("topic").string_type().no_default_value()
PATTERN = ConfigOptions.key("topic-pattern").string_type().no_default_value()
SERVERS = ConfigOptions.key("properties.bootstrap.servers").string_type().no_default_value()
FORMAT = ConfigOptions.key("format").string_type().no_default_value()
VALUE_FORMAT = ConfigOptions.key("value.format").string_type().no_default_value()
KEY_FORMAT = ConfigOptions.key("key.format").string_type().no_default_value()
KEY_FIELDS = ConfigOptions.key("key.fields").string_type().default_value("")
KEY_PREFIX = ConfigOptions.key("key.fields-prefix").string_type().default_value("")
VALUE_FIELDS = (
    ConfigOptions.key("value.fields-include")
    .string_type()
    .default_value("ALL")
    .one_of("ALL", "EXCEPT_KEY")
)
STARTUP = ConfigOptions.key("scan.startup.mode").string_type().default_value("group-offsets")
STARTUP_TIME = ConfigOptions.key("scan.startup.timestamp-millis").long_type().no_default_value()
STARTUP_OFFSETS = (
    ConfigOptions.key("scan.startup.specific-offsets").string_type().no_default_value()
)
BOUNDED = ConfigOptions.key("scan.bounded.mode").string_type().default_value("unbounded")
BOUNDED_TIME = ConfigOptions.key("scan.bounded.timestamp-millis").long_type().no_default_value()
BOUNDED_OFFSETS = (
    ConfigOptions.key("scan.bounded.specific-offsets").string_type().no_default_value()
)
DISCOVERY = (
    ConfigOptions.key("scan.topic-partition-discovery.interval").duration_type().no_default_value()
)
GUARANTEE = (
    ConfigOptions.key("sink.delivery-guarantee").string_type().default_value("at-least-once")
)
PREFIX = ConfigOptions.key("sink.transactional-id-prefix").string_type().no_default_value()
PARTITIONER = ConfigOptions.key("sink.partitioner").string_type().default_value("default")

PROPERTIES = "properties."


def source_builder(options: OptionValues, startup: str | None = None) -> KafkaSourceBuilder[Any]:
    """A source builder that lacks only the deserializer.

    Args:
        startup: value of ``scan.startup.mode`` for tables that lack this option.

    Raises:
        JobDefinitionError: options contradict each other, or one of them is missing.
    """
    topic, pattern = options.get(TOPIC), options.get(PATTERN)
    if (topic is None) == (pattern is None):
        raise JobDefinitionError("a table over topics needs 'topic' or 'topic-pattern'")
    builder = KafkaSource.builder().set_properties(_properties(options))
    if topic is None:
        builder.set_topic_pattern(pattern)
    else:
        builder.set_topics(*(name.strip() for name in topic.split(";")))
    builder.set_starting_offsets(_startup(options, startup or options.get(STARTUP)))
    interval = options.get(DISCOVERY)
    if interval is not None:
        builder.set_property(DISCOVERY_INTERVAL, str(interval.to_millis()))
    end = _bounded(options)
    return builder if end is None else builder.set_bounded(end)


def topic_sink(options: OptionValues, schema: KafkaRecordSerializationSchema) -> KafkaSink:
    """The sink with a serialization schema."""
    guarantees = {
        guarantee.name.lower().replace("_", "-"): guarantee for guarantee in DeliveryGuarantee
    }
    builder = KafkaSink.builder().set_record_serializer(schema)
    builder.set_delivery_guarantee(chosen(options.get(GUARANTEE), GUARANTEE.key, guarantees))
    for key, value in _properties(options).items():
        builder.set_property(key, value)
    if options.get(PREFIX) is not None:
        builder.set_transactional_id_prefix(options.get(PREFIX))
    return builder.build()


def partitioner_of(options: OptionValues) -> Any:
    """Partitioner of rows; None if Kafka partitions by key.

    Raises:
        JobDefinitionError: there is no such one, or keys and turns contradict each other.
    """
    name = options.get(PARTITIONER)
    if name == "default":
        return None
    if name == "fixed":
        return FixedPartitioner()
    if name == "round-robin":
        if options.get(KEY_FIELDS):
            raise JobDefinitionError(
                "'sink.partitioner' = 'round-robin' is for records without keys: remove "
                "'key.fields', or choose another partitioner"
            )
        return RoundRobinPartitioner()
    module, _, inside = name.partition(":")
    try:
        partitioner = getattr(import_module(module), inside)
    except (ImportError, AttributeError, ValueError) as error:
        raise JobDefinitionError(
            f"'sink.partitioner' = '{name}' is not one of default, fixed and round-robin, "
            f"and cannot be imported ({error}); write a function or a class as 'module:name'"
        ) from error
    return partitioner() if isinstance(partitioner, type) else partitioner


def _properties(options: OptionValues) -> dict[str, str]:
    return {
        key.removeprefix(PROPERTIES): value
        for key, value in options.values.items()
        if key.startswith(PROPERTIES)
    }


def _startup(options: OptionValues, mode: str) -> KafkaOffsetsInitializer:
    modes: dict[str, Callable[[], KafkaOffsetsInitializer]] = {
        "earliest-offset": KafkaOffsetsInitializer.earliest,
        "group-offsets": _group_offsets,
        "latest-offset": KafkaOffsetsInitializer.latest,
        "specific-offsets": lambda: _offsets(options, STARTUP_OFFSETS),
        "timestamp": lambda: _at(options, STARTUP_TIME),
    }
    made: KafkaOffsetsInitializer = chosen(mode, STARTUP.key, modes)()
    return made


def _bounded(options: OptionValues) -> KafkaOffsetsInitializer | None:
    modes: dict[str, Callable[[], KafkaOffsetsInitializer | None]] = {
        "group-offsets": _group_offsets,
        "latest-offset": KafkaOffsetsInitializer.latest,
        "specific-offsets": lambda: _offsets(options, BOUNDED_OFFSETS),
        "timestamp": lambda: _at(options, BOUNDED_TIME),
        "unbounded": lambda: None,
    }
    made: KafkaOffsetsInitializer | None = chosen(options.get(BOUNDED), BOUNDED.key, modes)()
    return made


def _group_offsets() -> KafkaOffsetsInitializer:
    return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.NONE)


def _at(options: OptionValues, option: Any) -> KafkaOffsetsInitializer:
    if options.get(option) is None:
        raise JobDefinitionError(f"the mode 'timestamp' needs the option '{option.key}'")
    return KafkaOffsetsInitializer.timestamp(options.get(option))


def _offsets(options: OptionValues, option: Any) -> KafkaOffsetsInitializer:
    text, topic = options.get(option), options.get(TOPIC)
    if text is None:
        raise JobDefinitionError(f"the mode 'specific-offsets' needs the option '{option.key}'")
    if topic is None or ";" in topic:
        raise JobDefinitionError(
            f"'{option.key}' works with one topic only, but the table has several"
        )
    offsets: dict[KafkaTopicPartition, int] = {}
    for part in filter(None, text.split(";")):
        try:
            given = dict(item.strip().split(":") for item in part.split(","))
            partition, offset = int(given.pop("partition")), int(given.pop("offset"))
        except (KeyError, ValueError):
            given = {"": ""}
        if given:
            raise JobDefinitionError(
                f"'{option.key}' = '{text}': write it as 'partition:0,offset:42;partition:1,offset:"
                f"300', not {part!r}"
            )
        offsets[KafkaTopicPartition(topic.strip(), partition)] = offset
    return KafkaOffsetsInitializer.offsets(offsets)
