"""Changes in Debezium's Avro format, with a schema registry. Flink docs: "Debezium format"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.row import Row, RowKind
from millrace.formats.changes.debezium_operation import debezium_changes
from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["DebeziumAvroDeserializationSchema", "DebeziumAvroSerializationSchema"]

_ADDED = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})


class DebeziumAvroDeserializationSchema(DeserializationSchema[Row]):
    """Reads Debezium's messages: ``c`` and ``r`` as INSERT, ``u`` as UPDATE_BEFORE and
    UPDATE_AFTER, ``d`` as DELETE; truncates, log messages and tombstones are skipped.

    Args:
        envelope: reads the rows of ``before``, ``after`` and ``op``.
    """

    def __init__(self, envelope: DeserializationSchema[Any]) -> None:
        self._envelope = envelope

    def deserialize(self, message: bytes) -> Row:
        """Not supported, because a message may hold two rows or none.

        Raises:
            SerializationError: always; call `deserialize_flat` or `deserialize_batch`.
        """
        raise SerializationError("a message of Debezium may be several rows: read whole batches")

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        return self.deserialize_flat(messages)[0]

    def deserialize_flat(self, messages: Sequence[bytes]) -> tuple[Batch, list[int]]:
        places = [place for place, message in enumerate(messages) if message]
        changes: list[Any] = []
        if places:
            read = self._envelope.deserialize_batch([messages[place] for place in places])
            changes = read.to_rows().values
        rows: list[Row] = []
        origins: list[int] = []
        for place, change in zip(places, changes, strict=True):
            for kind, row in _rows_of(change, messages[place]):
                row.set_row_kind(kind)
                rows.append(row)
                origins.append(place)
        return RowBatch(rows), origins


def _rows_of(change: Row, message: bytes) -> Iterator[tuple[RowKind, Row]]:
    before, after, op = change
    try:
        changes = debezium_changes(op, before, after)
    except ValueError as error:
        raise MalformedRecordError(str(error), bytes(message)) from None
    for kind, row in changes:
        yield RowKind(kind), row


class DebeziumAvroSerializationSchema(SerializationSchema[Row]):
    """Writes rows as Debezium's messages ``c`` and ``d``.

    Args:
        envelope: writes rows of ``before``, ``after`` and ``op``.
    """

    def __init__(self, envelope: SerializationSchema[Any]) -> None:
        self._envelope = envelope

    def serialize(self, value: Row) -> bytes:
        return self.serialize_batch([value])[0]

    def serialize_batch(self, values: Sequence[Row]) -> list[bytes]:
        return list(self._envelope.serialize_batch(list(map(_envelope_of, values))))


def _envelope_of(row: Row) -> Row:
    return Row(None, row, "c") if row.get_row_kind() in _ADDED else Row(row, None, "d")
