"""Changes in Debezium's JSON format. Flink docs: "Debezium format"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from millrace.common.types.type_information import TypeInformation
from millrace.formats.changes.change_schema import (
    NULL,
    Change,
    ChangeDeserializationSchema,
    ChangeSerializationSchema,
)
from millrace.formats.changes.debezium_operation import debezium_changes

__all__ = ["DebeziumJsonDeserializationSchema", "DebeziumJsonSerializationSchema"]


class _Payload(msgspec.Struct, gc=False):
    op: str
    before: msgspec.Raw = NULL
    after: msgspec.Raw = NULL


class _Envelope(msgspec.Struct, gc=False):
    payload: _Payload | None


_read_payload = msgspec.json.Decoder(_Payload).decode
_read_envelope = msgspec.json.Decoder(_Envelope).decode


class DebeziumJsonDeserializationSchema(ChangeDeserializationSchema):
    """Reads Debezium's messages: ``c`` and ``r`` as INSERT, ``u`` as UPDATE_BEFORE and
    UPDATE_AFTER, ``d`` as DELETE; tombstones are skipped.

    Args:
        type_info: type of the rows.
        schema_include: whether messages carry their schema (``value.converter.schemas.enable``).
        ignore_parse_errors: leave broken messages out.
        null_for_wrong_fields: read fields of a wrong type as None.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW_NAMED(["id"], [Types.LONG()])
        >>> schema = DebeziumJsonDeserializationSchema(row_type)
        >>> rows = schema.deserialize_batch([b'{"op": "d", "before": {"id": 7}, "after": null}'])
        >>> [(row.get_row_kind().name, row) for row in rows.to_rows().values]
        [('DELETE', Row(id=7))]
    """

    def __init__(
        self,
        type_info: TypeInformation[Any],
        schema_include: bool = False,
        ignore_parse_errors: bool = False,
        null_for_wrong_fields: bool = False,
    ) -> None:
        super().__init__(type_info, ignore_parse_errors, null_for_wrong_fields)
        self._schema_include = schema_include

    def changes(self, message: bytes) -> Sequence[Change]:
        if self._schema_include:
            payload = _read_envelope(message).payload
            if payload is None:
                return ()
        else:
            payload = _read_payload(message)
        return debezium_changes(payload.op, _row(payload.before), _row(payload.after))

    def __reduce__(self) -> tuple[Any, ...]:
        flags = (self._schema_include, self._ignore_parse_errors, self._null_for_wrong_fields)
        return DebeziumJsonDeserializationSchema, (self._type_info, *flags)


class DebeziumJsonSerializationSchema(ChangeSerializationSchema):
    """Writes rows as Debezium's messages without a schema: ``c`` and ``d``.

    Example:
        >>> from millrace.common import Row, RowKind, Types
        >>> schema = DebeziumJsonSerializationSchema(Types.ROW_NAMED(["id"], [Types.LONG()]))
        >>> schema.serialize(Row.of_kind(RowKind.DELETE, id=7))
        b'{"before":{"id":7},"after":null,"op":"d"}'
    """

    _added = b'{"before":null,"after":%s,"op":"c"}'
    _deleted = b'{"before":%s,"after":null,"op":"d"}'


def _row(fields: msgspec.Raw) -> msgspec.Raw | None:
    return None if fields == NULL else fields
