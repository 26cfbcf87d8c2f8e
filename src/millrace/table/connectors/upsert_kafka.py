"""Topics with one row per key: ``'connector' = 'upsert-kafka'``. Flink docs: "Upsert Kafka SQL
Connector"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.common.types.row import INSERT_ONLY, UPSERTS, RowKind
from millrace.connectors.kafka.table_records import READABLE_METADATA
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import (
    OptionValues,
    ScanRequest,
    SinkRequest,
    TableFactory,
)
from millrace.table.connectors import kafka_options as keys
from millrace.table.connectors.kafka import TopicFormats
from millrace.table.formats.format_choice import MESSAGE_FORMATS, format_options

__all__ = ["UpsertKafkaFactory"]

WITHOUT_EFFECT = (
    ConfigOptions.key("sink.buffer-flush.max-rows").int_type().no_default_value(),
    ConfigOptions.key("sink.buffer-flush.interval").duration_type().no_default_value(),
)
"""Taken for programs of Flink: an epoch writes the net change of each key."""


class UpsertKafkaFactory(TableFactory):
    """Table whose rows are the last records of the keys; a record without a value deletes its
    row."""

    identifier = "upsert-kafka"
    required = (keys.TOPIC, keys.SERVERS, keys.KEY_FORMAT, keys.VALUE_FORMAT)
    optional = (
        keys.KEY_PREFIX,
        keys.VALUE_FIELDS,
        keys.BOUNDED,
        keys.BOUNDED_TIME,
        keys.BOUNDED_OFFSETS,
        keys.DISCOVERY,
        keys.GUARANTEE,
        keys.PREFIX,
        *WITHOUT_EFFECT,
    )
    prefixes = (keys.PROPERTIES,)
    metadata: ClassVar[Mapping[str, str]] = {
        key: text for key, (text, _) in READABLE_METADATA.items()
    }

    def format_options(self, options: Mapping[str, str]) -> Iterable[ConfigOption[Any]]:
        return format_options(options, (keys.KEY_FORMAT.key, keys.VALUE_FORMAT.key))

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        if options.get(keys.BOUNDED.key, "unbounded") == "unbounded":
            return Boundedness.CONTINUOUS_UNBOUNDED
        return Boundedness.BOUNDED

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return UPSERTS

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return UPSERTS

    def repeats_writes(self, table: ResolvedTable, options: Mapping[str, str]) -> bool:
        return options.get(keys.GUARANTEE.key) != "exactly-once"

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        builder = keys.source_builder(options, startup="earliest-offset")
        return self._formats(request.table, options).source(request, builder)

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        return keys.topic_sink(options, self._formats(request.table, options).serializer(request))

    def _formats(self, table: ResolvedTable, options: OptionValues) -> TopicFormats:
        name = ".".join(table.path)
        if not table.primary_key:
            raise JobDefinitionError(
                f"table {name}: 'connector' = 'upsert-kafka' needs a PRIMARY KEY (...) NOT "
                "ENFORCED: its columns are the keys of the records"
            )
        chosen = options.get(keys.VALUE_FORMAT)
        known = MESSAGE_FORMATS.get(chosen)
        if known is None or known.changes != INSERT_ONLY:
            own = MESSAGE_FORMATS.own().items()
            rows = [name for name, message_format in own if message_format.changes == INSERT_ONLY]
            raise JobDefinitionError(
                f"table {name}: 'value.format' = '{chosen}': the formats for upserts are "
                f"{', '.join(sorted(rows))}; for changes use 'connector' = 'kafka'"
            )
        return TopicFormats(table, options, table.primary_key, upsert=True)
