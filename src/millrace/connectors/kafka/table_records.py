"""Rows of a table as records of Kafka: keys, values, metadata, and deletes as tombstones.

Flink: ``DynamicKafkaDeserializationSchema`` and ``DynamicKafkaRecordSerializationSchema``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.serialization import DeserializationSchema
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import Row, RowKind
from millrace.connectors.kafka import (
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
)
from millrace.connectors.kafka.record_deserializer import KafkaRecord, require_one_each
from millrace.connectors.kafka.record_serializer import Outgoing, PartitionsOf, no_partitions
from millrace.formats.changes.change_metadata import ChangeMetadata, decoded_change
from millrace.table_runtime.columns import ColumnConversion, schema_of

__all__ = [
    "READABLE_METADATA",
    "WRITABLE_METADATA",
    "RecordPart",
    "TableRecordDeserializationSchema",
    "TableRecordSerializationSchema",
]

_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")


def _timestamp(message: Any) -> int | None:
    kind, millis = message.timestamp()
    return millis if kind else None


READABLE_METADATA: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "headers": (
        "MAP<STRING, BYTES>",
        lambda message: list(dict(message.headers() or ()).items()),
    ),
    "leader-epoch": ("INT", lambda message: message.leader_epoch()),
    "offset": ("BIGINT", lambda message: message.offset()),
    "partition": ("INT", lambda message: message.partition()),
    "timestamp": ("TIMESTAMP_LTZ(3)", _timestamp),
    "timestamp-type": ("STRING", lambda message: _TIMESTAMP_TYPES[message.timestamp()[0]]),
    "topic": ("STRING", lambda message: message.topic()),
}
"""Type and getter of each metadata key of a message of the client."""
WRITABLE_METADATA = ("headers", "timestamp")


@dataclass(frozen=True)
class RecordPart:
    """The key or the value of records, as columns of a table.

    Attributes:
        schema: schema that reads or writes the key or the value.
        columns: columns of the schema's rows, under the table's names.
        in_table: names of the columns as the schema knows them.
    """

    schema: Any
    columns: RowType
    in_table: tuple[str, ...] = ()


class TableRecordDeserializationSchema(KafkaRecordDeserializationSchema[Any]):
    """Reads columns of values, keys and metadata.

    Args:
        columns: columns of the result, in order.
        value, key: parts to read; a column that both contain is read from the value.
        metadata: key of each metadata column.
        tombstones: whether a record without a value deletes the row of its key, and other records
            are upserts; if not, records without a value are left out.

    Attributes:
        of_values: metadata that is inside the values, by key.
    """

    def __init__(
        self,
        columns: RowType,
        value: RecordPart,
        key: RecordPart | None = None,
        metadata: Mapping[str, str] | None = None,
        tombstones: bool = False,
    ) -> None:
        self._columns = columns
        self._value, self._key = value, key
        self._metadata = dict(metadata or {})
        self._tombstones = tombstones
        self.of_values: dict[str, ChangeMetadata] = {}

    def deserialize(self, record: KafkaRecord) -> Any:
        raise NotImplementedError  # only whole batches are read

    def deserialize_flat(self, messages: Sequence[Any]) -> tuple[Batch, list[int]]:
        filled = [place for place, message in enumerate(messages) if message.value() is not None]
        rows, origins, kinds = self._values(messages, filled)
        if self._tombstones:
            gone = [place for place, message in enumerate(messages) if message.value() is None]
            return self._upserts(rows, origins, messages, gone)
        of_rows = [messages[origin] for origin in origins]
        return ColumnBatch(self._joined(rows, of_rows), None, kinds, "row"), origins

    def _values(self, messages: Sequence[Any], filled: list[int]) -> tuple[Any, list[int], Any]:
        """The columns of the values, the message of each row, and the rows' kinds."""
        schema: DeserializationSchema[Any] = self._value.schema
        if not filled:
            return _columns(self._value, RowBatch([])).data, [], None
        batch, origins = schema.deserialize_flat([messages[place].value() for place in filled])
        if origins is None:
            require_one_each(batch, [messages[place] for place in filled])
            origins = list(range(len(filled)))
        columns = _columns(self._value, batch)
        return columns.data, [filled[origin] for origin in origins], columns.row_kinds

    def _joined(self, values: Any, messages: Sequence[Any]) -> Any:
        """The rows of values joined with the keys and metadata of their messages."""
        import pyarrow as pa

        keys = None if self._key is None else self._keys(messages)
        changes = _changes_of(messages) if self.of_values else []
        columns = []
        for field in self._columns.fields:
            if field.name in self._metadata:
                metadata = self._metadata_of(messages, changes, self._metadata[field.name])
                columns.append(_as_column(metadata, arrow_type(field.type)))
            elif values is not None and field.name in self._value.columns.names:
                columns.append(values.column(field.name))
            elif keys is not None and field.name in keys.schema.names:
                columns.append(keys.column(field.name))
            else:
                columns.append(pa.nulls(len(messages), arrow_type(field.type)))
        if not columns:  # rows are counted
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(messages), pa.struct([])))
        return pa.RecordBatch.from_arrays(columns, schema=schema_of(self._columns))

    def _metadata_of(self, messages: Sequence[Any], changes: Sequence[Any], key: str) -> list[Any]:
        of_value = self.of_values.get(key)
        if of_value is None:
            read = READABLE_METADATA[key][1]
            return [read(message) for message in messages]
        return [None if change is None else of_value.of(change) for change in changes]

    def _keys(self, messages: Sequence[Any]) -> Any:
        """The columns of the keys; null for messages without a key."""
        import pyarrow as pa

        assert self._key is not None
        schema: DeserializationSchema[Any] = self._key.schema
        places = [place for place, message in enumerate(messages) if message.key() is not None]
        read: Batch = RowBatch([])
        if places:
            read = schema.deserialize_batch([messages[place].key() for place in places])
        keys = _columns(self._key, read).data
        if len(places) == len(messages):
            return keys
        position = dict(zip(places, range(len(places)), strict=True))
        return keys.take(pa.array([position.get(i) for i in range(len(messages))], pa.int64()))

    def _upserts(
        self, rows: Any, origins: list[int], messages: Sequence[Any], gone: list[int]
    ) -> tuple[Batch, list[int]]:
        """Upserts and deletes in the order of their messages."""
        import pyarrow as pa

        upserted = self._joined(rows, [messages[origin] for origin in origins])
        deleted = self._joined(None, [messages[place] for place in gone])
        places = [*origins, *gone]
        order = sorted(range(len(places)), key=places.__getitem__)
        data = pa.concat_batches([upserted, deleted]).take(pa.array(order, pa.int64()))
        kinds = [RowKind.UPDATE_AFTER.value] * len(origins) + [RowKind.DELETE.value] * len(gone)
        row_kinds = pa.array([kinds[place] for place in order], pa.int8())
        return ColumnBatch(data, None, row_kinds, "row"), [places[place] for place in order]


def _changes_of(messages: Sequence[Any]) -> list[Any]:
    """The changes in the values, decoded once for all rows of a message; None if there are none."""
    changes: list[Any] = []
    last = None
    for message in messages:
        if message is not last:
            value, last = message.value(), message
            change = decoded_change(value) if value else None
        changes.append(change)
    return changes


def _columns(part: RecordPart, batch: Batch) -> ColumnBatch:
    """Rows of a schema as columns of the table, by name."""
    fields = zip(part.in_table or part.columns.names, part.columns.fields, strict=True)
    convert = ColumnConversion(RowType.of(*((name, field.type) for name, field in fields)))
    columns = convert(batch)
    return ColumnBatch(
        columns.data.rename_columns(list(part.columns.names)), None, columns.row_kinds, "row"
    )


def _as_column(values: list[Any], kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and not any(isinstance(value, datetime) for value in values):
        # ms since the epoch, of whatever precision is declared
        return pa.array(values, pa.timestamp("ms", kind.tz)).cast(kind)
    return pa.array(values, kind)


class TableRecordSerializationSchema(KafkaRecordSerializationSchema):
    """Writes rows with keys and metadata.

    Args:
        columns: columns of the rows.
        metadata: key of each metadata column.
        tombstones: whether a record without a value deletes the row of its key, and other records
            are upserts; if not, records without a value are left out.
        partitioner: chooses the partition of each row; by default the key does.
    """

    def __init__(
        self,
        topic: str,
        columns: RowType,
        value: RecordPart,
        key: RecordPart | None = None,
        metadata: Mapping[str, str] | None = None,
        tombstones: bool = False,
        partitioner: Any = None,
    ) -> None:
        key_schema = None if key is None else key.schema
        super().__init__(topic, value.schema, key_schema, partitioner=partitioner)
        self._key_fields = _positions(columns, key)
        self._value_fields = _positions(columns, value) or ()
        keys = {name: place for place, name in enumerate(columns.names)}
        self._metadata = {key: keys[name] for name, key in (metadata or {}).items()}
        self._tombstones = tombstones

    def serialize_batch(
        self, batch: RowBatch[Any], partitions_of: PartitionsOf = no_partitions
    ) -> Outgoing:
        rows = batch.values
        if self._tombstones:
            rows = [row for row in rows if row.get_row_kind() is not RowKind.UPDATE_BEFORE]
        messages: list[dict[str, Any]] = [{"value": value} for value in self._written_values(rows)]
        if self._key_schema is not None and self._key_fields is not None:
            written = self._key_schema.serialize_batch(_parts(rows, self._key_fields))
            for message, key in zip(messages, written, strict=True):
                message["key"] = key
        for name, place in self._metadata.items():
            for message, row in zip(messages, rows, strict=True):
                _add_metadata(message, name, row[place])
        return self._by_topic(rows, messages, partitions_of)

    def _written_values(self, rows: Sequence[Any]) -> list[bytes | None]:
        if not self._tombstones:
            return list(self._value_schema.serialize_batch(_parts(rows, self._value_fields)))
        kept = [place for place, row in enumerate(rows) if not _is_delete(row)]
        values: list[bytes | None] = [None] * len(rows)
        parts = _parts([rows[place] for place in kept], self._value_fields)
        written = self._value_schema.serialize_batch(parts)
        for place, value in zip(kept, written, strict=True):
            values[place] = value
        return values


def _is_delete(row: Any) -> bool:
    return row.get_row_kind() is RowKind.DELETE


def _positions(columns: RowType, part: RecordPart | None) -> tuple[int, ...] | None:
    if part is None:
        return None
    return tuple(columns.names.index(name) for name in part.columns.names)


def _parts(rows: Sequence[Any], fields: Sequence[int]) -> list[Row]:
    """Some fields of rows, with the kinds of the rows."""
    if rows and list(fields) == list(range(len(rows[0]))):
        return list(rows)
    parts = []
    for row in rows:
        part = Row(*[row[field] for field in fields])
        part.set_row_kind(row.get_row_kind())
        parts.append(part)
    return parts


def _add_metadata(message: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        return
    if key == "timestamp":
        at = value if value.tzinfo else value.replace(tzinfo=UTC)
        message["timestamp"] = int(at.timestamp() * 1000)
        if message["timestamp"] < 0:
            raise SerializationError(
                f"{value} is before 1970, so it cannot be a timestamp of Kafka"
            )
    else:
        pairs = value.items() if isinstance(value, Mapping) else value
        message["headers"] = [(str(name), item) for name, item in pairs]
