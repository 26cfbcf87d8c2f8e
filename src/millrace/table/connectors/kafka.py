"""Topics as tables: ``'connector' = 'kafka'``. Flink docs: "Apache Kafka SQL Connector"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.connectors.kafka.table_records import (
    READABLE_METADATA,
    WRITABLE_METADATA,
    RecordPart,
    TableRecordDeserializationSchema,
    TableRecordSerializationSchema,
)
from millrace.formats.registry import SubjectName
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.planner.execution.table_factory import (
    OptionValues,
    ScanRequest,
    SinkRequest,
    TableFactory,
)
from millrace.table.connectors import kafka_options as keys
from millrace.table.formats.avro_formats import RegistryFormat
from millrace.table.formats.format_choice import MESSAGE_FORMATS, FormatChoice, format_options

__all__ = ["KafkaFactory", "TopicFormats"]

_OF_VALUE = "value."
"""Prefix of the keys of metadata that the format of values gives."""
_FORMATS = (keys.FORMAT.key, keys.VALUE_FORMAT.key, keys.KEY_FORMAT.key)


class KafkaFactory(TableFactory):
    """Reads the records of topics, and appends rows to a topic."""

    identifier = "kafka"
    required = (keys.SERVERS,)
    optional = (
        keys.TOPIC,
        keys.PATTERN,
        keys.FORMAT,
        keys.VALUE_FORMAT,
        keys.KEY_FORMAT,
        keys.KEY_FIELDS,
        keys.KEY_PREFIX,
        keys.VALUE_FIELDS,
        keys.STARTUP,
        keys.STARTUP_TIME,
        keys.STARTUP_OFFSETS,
        keys.BOUNDED,
        keys.BOUNDED_TIME,
        keys.BOUNDED_OFFSETS,
        keys.DISCOVERY,
        keys.GUARANTEE,
        keys.PREFIX,
        keys.PARTITIONER,
    )
    prefixes = (keys.PROPERTIES,)
    metadata: ClassVar[Mapping[str, str]] = {
        key: text for key, (text, _) in READABLE_METADATA.items()
    }

    def format_options(self, options: Mapping[str, str]) -> Iterable[ConfigOption[Any]]:
        return format_options(options, _FORMATS)

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        if options.get(keys.BOUNDED.key, "unbounded") == "unbounded":
            return Boundedness.CONTINUOUS_UNBOUNDED
        return Boundedness.BOUNDED

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        known = MESSAGE_FORMATS.get(_value_format(options)[1])
        return INSERT_ONLY if known is None else known.changes

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        known = MESSAGE_FORMATS.get(_value_format(options)[1])
        return INSERT_ONLY if known is None else known.accepts

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        formats = _formats(request.table, options)
        return formats.source(request, keys.source_builder(options))

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        formats = _formats(request.table, options)
        return keys.topic_sink(options, formats.serializer(request))


def _formats(table: ResolvedTable, options: OptionValues) -> TopicFormats:
    names = (name.strip() for name in options.get(keys.KEY_FIELDS).split(";"))
    return TopicFormats(table, options, [name for name in names if name])


def _value_format(options: Mapping[str, str]) -> tuple[str, str]:
    """The option that names the format of values, and its value."""
    key = keys.FORMAT.key if keys.FORMAT.key in options else keys.VALUE_FORMAT.key
    return key, options.get(key, "")


def _with_subjects(options: OptionValues) -> OptionValues:
    """The options, with subjects named after the topic for registered schemas."""
    topic = options.get(keys.TOPIC)
    if topic is None or ";" in topic:
        return options
    subjects = {}
    for key in _FORMATS:
        message_format = MESSAGE_FORMATS.get(options.values.get(key, ""))
        if isinstance(message_format, RegistryFormat):
            option = key.removesuffix("format") + message_format.subject.key
            subjects[option] = SubjectName.topic(topic, key == keys.KEY_FORMAT.key)
    return OptionValues(subjects | options.values)


class TopicFormats:
    """Assignment of a table's columns to the keys and values of records, and their formats.

    Args:
        key_fields: names of the columns in keys.
        upsert: whether keys stand for rows, which records without a value delete.

    Raises:
        JobDefinitionError: options contradict each other, or name what is not there.
    """

    def __init__(
        self,
        table: ResolvedTable,
        options: OptionValues,
        key_fields: Iterable[str],
        upsert: bool = False,
    ) -> None:
        self._table, self._options, self._upsert = table, _with_subjects(options), upsert
        options = self._options
        self._physical = [column for column in table.columns if column.kind is ColumnKind.PHYSICAL]
        self._key_fields = tuple(key_fields)
        self._prefix: str = options.get(keys.KEY_PREFIX)
        option, name = _value_format(options.values)
        if not name:
            raise self._wrong("it needs the option 'format' (or 'value.format')")
        if {keys.FORMAT.key, keys.VALUE_FORMAT.key} <= options.values.keys():
            raise self._wrong("'format' and 'value.format' mean the same: set only one of them")
        self._value = FormatChoice(option, name, options.get)
        self._key = self._key_choice()
        self._require_consistent()

    def _key_choice(self) -> FormatChoice | None:
        name = self._options.get(keys.KEY_FORMAT)
        if name is None:
            if self._key_fields:
                raise self._wrong("'key.fields' needs 'key.format'")
            return None
        if not self._key_fields:
            raise self._wrong("'key.format' needs 'key.fields', the list of the columns in keys")
        choice = FormatChoice(keys.KEY_FORMAT.key, name, self._options.get)
        if choice.format.changes != INSERT_ONLY:
            raise self._wrong(
                f"'key.format' = '{name}': keys cannot be changes; use json, csv or avro"
            )
        return choice

    def _require_consistent(self) -> None:
        names = [column.name for column in self._physical]
        for name in self._key_fields:
            if name not in names:
                raise self._wrong(
                    f"the key field {name!r} is not a physical column; the columns are "
                    f"{', '.join(names)}"
                )
            if not name.startswith(self._prefix):
                raise self._wrong(
                    f"the key field {name!r} does not begin with 'key.fields-prefix' = "
                    f"'{self._prefix}'"
                )
        if self._prefix and self._options.get(keys.VALUE_FIELDS) != "EXCEPT_KEY":
            raise self._wrong("'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY'")

    def _wrong(self, reason: str) -> JobDefinitionError:
        return JobDefinitionError(f"table {'.'.join(self._table.path)}: {reason}")

    @property
    def _key_columns(self) -> RowType:
        by_name = {column.name: column for column in self._physical}
        return _row_type((name, by_name[name].type) for name in self._key_fields)

    @property
    def _value_columns(self) -> RowType:
        left_out = self._key_fields if self._options.get(keys.VALUE_FIELDS) == "EXCEPT_KEY" else ()
        kept = [column for column in self._physical if column.name not in left_out]
        if not kept:
            raise self._wrong("no column is left for the values of records")
        return _row_type((column.name, column.type) for column in kept)

    def source(self, request: ScanRequest, builder: Any) -> Source[Any]:
        """A source of the requested columns."""
        metadata = self._readable(request.metadata)
        values, wanted = self._value_columns, request.columns.names
        schema = self._value.deserializer(values, wanted)
        builder.set_error_policy(self._value.error_policy)
        in_keys = [name for name in wanted if name in self._key_fields]
        if not self._upsert and not metadata and all(name in values.names for name in wanted):
            made: Source[Any] = builder.set_value_only_deserializer(schema).build()
            return made
        read = RowType(tuple(field for field in values.fields if field.name in wanted))
        key = self._key_part() if self._upsert or in_keys else None
        records = TableRecordDeserializationSchema(
            request.columns, RecordPart(schema, read), key, metadata, self._upsert
        )
        records.of_values = {
            key: self._value.metadata_reader(key.removeprefix(_OF_VALUE))
            for key in metadata.values()
            if key.startswith(_OF_VALUE)
        }
        made = builder.set_deserializer(records).build()
        return made

    def _key_part(self) -> RecordPart:
        assert self._key is not None
        inner = self._inner_key
        schema = self._key.deserializer(inner, inner.names)
        return RecordPart(schema, self._key_columns, inner.names)

    @property
    def _inner_key(self) -> RowType:
        """The columns under the names that the format of keys uses."""
        cut = len(self._prefix)
        return _row_type((field.name[cut:], field.type) for field in self._key_columns.fields)

    def _readable(self, metadata: Mapping[str, str]) -> dict[str, str]:
        known = [*READABLE_METADATA, *(_OF_VALUE + key for key in self._value.format.metadata)]
        for name, key in metadata.items():
            if key not in known:
                raise self._wrong(
                    f"column {name}: topics have no metadata {key!r}; known are {', '.join(known)}"
                )
        return dict(metadata)

    def serializer(self, request: SinkRequest) -> TableRecordSerializationSchema:
        """Serializer of rows to records."""
        topic = self._options.get(keys.TOPIC)
        if topic is None or ";" in topic:
            raise self._wrong("it cannot be written, because it does not have exactly one 'topic'")
        metadata = {
            column.name: column.metadata_key or column.name
            for column in self._table.columns
            if column.kind is ColumnKind.METADATA and column.persisted
        }
        for name, wanted in metadata.items():
            if wanted not in WRITABLE_METADATA:
                raise self._wrong(
                    f"column {name}: the metadata {wanted!r} cannot be written, only "
                    f"{' and '.join(WRITABLE_METADATA)}; declare it METADATA VIRTUAL"
                )
        values = self._value_columns
        key = None
        if self._key is not None:
            key = RecordPart(self._key.serializer(self._inner_key), self._key_columns)
        value = RecordPart(self._value.serializer(values), values)
        partitioner = keys.partitioner_of(self._options)
        return TableRecordSerializationSchema(
            topic, request.columns, value, key, metadata, self._upsert, partitioner
        )


def _row_type(fields: Iterable[tuple[str, Any]]) -> RowType:
    return RowType(tuple(RowField(name, kind) for name, kind in fields))
