"""Base of the formats for a database's changes in JSON: a message holds some rows, each with a
row kind (Flink docs, "Change Data Capture formats")."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row, RowKind
from millrace.common.types.type_information import TypeInformation
from millrace.formats.json_columns import JsonColumns
from millrace.formats.json_row import JsonRowDeserializationSchema, JsonRowSerializationSchema
from millrace.formats.malformed_record import MalformedRecordError, as_malformed

__all__ = [
    "DELETE",
    "INSERT",
    "NULL",
    "UPDATE_AFTER",
    "UPDATE_BEFORE",
    "Change",
    "ChangeDeserializationSchema",
    "ChangeSerializationSchema",
    "merged",
]

NULL = msgspec.Raw(b"null")
_ADDED = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


Change = tuple[int, Any]
"""One row of a message, not yet read: the number of its `RowKind`, and the JSON object of its
fields."""
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = (kind.value for kind in RowKind)


def merged(old: Any, fields: Any) -> bytes:
    """The row before an update, completed from a message that has only the old values of changed
    fields.

    >>> merged(b'{"n": 1}', b'{"id": 7, "n": 2}')
    b'{"id":7,"n":1}'
    """
    return msgspec.json.encode({**_FIELDS.decode(fields), **_FIELDS.decode(old)})


class ChangeDeserializationSchema(DeserializationSchema[Row], ResultTypeQueryable):
    """Reads messages as rows with their kinds; subclasses parse the envelope.

    Args:
        type_info: type of the rows.
        ignore_parse_errors: leave broken messages out; otherwise the error policy of the source
            decides.
        null_for_wrong_fields: read fields of a wrong type as None, as tables do if they ignore
            parse errors: a change that is left out would leave a wrong row for good.

    Raises:
        JobDefinitionError: the type is not that of rows.
    """

    def __init__(
        self,
        type_info: TypeInformation[Any],
        ignore_parse_errors: bool = False,
        null_for_wrong_fields: bool = False,
    ) -> None:
        self._type_info = _row_type(type_info, self)
        self._ignore_parse_errors = ignore_parse_errors
        self._null_for_wrong_fields = null_for_wrong_fields
        self._columns = JsonColumns(self._type_info)
        self._rows = JsonRowDeserializationSchema(
            self._type_info, null_for_wrong_fields=null_for_wrong_fields
        )

    @abstractmethod
    def changes(self, message: bytes) -> Sequence[Change]:
        """Changes of a message, in order.

        Raises:
            ValueError: the message is not of this format.
        """

    def deserialize(self, message: bytes) -> Row:
        """Not supported, because a message may hold two rows or none.

        Raises:
            SerializationError: always; call `deserialize_flat` or `deserialize_batch`.
        """
        raise SerializationError(
            f"a message of {type(self).__name__} may be several rows: call deserialize_batch"
        )

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        """Rows of several messages."""
        return self.deserialize_flat(messages)[0]

    def deserialize_flat(self, messages: Sequence[bytes]) -> tuple[Batch, list[int]]:
        try:
            return self._read(messages)
        except Exception as error:  # of one of the messages: which one does the caller find out
            if len(messages) == 1 and not self._ignore_parse_errors:
                raise self._malformed(error, messages[0]) from None
            if not self._ignore_parse_errors:
                raise
        return self._readable(messages)

    def _read(self, messages: Sequence[bytes]) -> tuple[Batch, list[int]]:
        changes: list[Change] = []
        origins: list[int] = []
        read = self.changes
        for position, message in enumerate(messages):
            if message:  # else it is a tombstone
                for change in read(message):
                    changes.append(change)
                    origins.append(position)
        if not changes:
            return RowBatch([]), origins
        kinds, fields = zip(*changes, strict=True)
        batch: Batch | None = self._columns.read(fields)
        if batch is None:
            batch = RowBatch([self._rows.deserialize(bytes(item)) for item in fields])
        return _of_kinds(batch, kinds), origins

    def _readable(self, messages: Sequence[bytes]) -> tuple[Batch, list[int]]:
        rows: list[Any] = []
        origins: list[int] = []
        for position, message in enumerate(messages):
            try:
                of_message = self._read([message])[0].to_rows().values
            except Exception:  # it is to be left out, whatever is wrong with it
                continue
            rows += of_message
            origins += [position] * len(of_message)
        return RowBatch(rows), origins

    def _malformed(self, error: Exception, message: bytes) -> MalformedRecordError:
        reason = as_malformed(error).reason
        return MalformedRecordError(f"not a message of {self._format}: {reason}", bytes(message))

    @property
    def _format(self) -> str:
        return type(self).__name__.removesuffix("DeserializationSchema")

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return self._type_info


class ChangeSerializationSchema(SerializationSchema[Row]):
    """Writes rows by their kinds, as Flink does: an ``UPDATE_BEFORE`` as a deleted row and an
    ``UPDATE_AFTER`` as an added one. Rows without a kind are added.

    Args:
        type_info: type of the rows.
        rows: writes the rows themselves, as JSON; by default `JsonRowSerializationSchema`.

    Raises:
        JobDefinitionError: the type is not that of rows.
    """

    _added = b"%s"
    """The message of a row that is added."""
    _deleted = b"%s"

    def __init__(
        self, type_info: TypeInformation[Any], rows: SerializationSchema[Row] | None = None
    ) -> None:
        self._type_info = _row_type(type_info, self)
        self._rows = rows or JsonRowSerializationSchema(self._type_info)

    def serialize(self, value: Row) -> bytes:
        """A row as a message in the format of the change log.

        Raises:
            SerializationError: a value is not of its field's type.
        """
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        return (self._added if kind in _ADDED else self._deleted) % self._rows.serialize(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info, self._rows)


def _of_kinds(batch: Batch, kinds: Sequence[int]) -> Batch:
    if isinstance(batch, ColumnBatch):
        import pyarrow as pa

        numbers = pa.array(kinds, pa.int8())
        return ColumnBatch(batch.data, batch.timestamps, numbers, batch.form)
    for row, kind in zip(batch.values, kinds, strict=True):
        if row is None:
            raise ValueError("a row is null")
        row.set_row_kind(RowKind(kind))
    return batch


def _row_type(type_info: Any, schema: object) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        raise JobDefinitionError(
            f"{type(schema).__name__} needs the type of the rows, Types.ROW_NAMED([names], "
            f"[types]); got {type_info!r}"
        )
    return type_info
