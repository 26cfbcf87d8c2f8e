"""Changes in Maxwell's format. Flink docs: "Maxwell format"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from millrace.formats.changes.change_schema import (
    DELETE,
    INSERT,
    NULL,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    Change,
    ChangeDeserializationSchema,
    ChangeSerializationSchema,
    merged,
)

__all__ = ["MaxwellJsonDeserializationSchema", "MaxwellJsonSerializationSchema"]

_NO_ROWS = frozenset(
    (
        *("bootstrap-start", "bootstrap-complete"),
        *("table-create", "table-alter", "table-drop"),
        *("database-create", "database-alter", "database-drop"),
    )
)


class _Message(msgspec.Struct, gc=False):
    type: str
    data: msgspec.Raw = NULL
    old: msgspec.Raw = NULL


_read_message = msgspec.json.Decoder(_Message).decode


class MaxwellJsonDeserializationSchema(ChangeDeserializationSchema):
    """Reads Maxwell's messages: ``insert`` (and ``bootstrap-insert``), ``update``, ``delete``.
    Schema changes are skipped.

    Args:
        type_info: type of the rows.
        ignore_parse_errors: leave broken messages out.
        null_for_wrong_fields: read fields of a wrong type as None.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW_NAMED(["id", "n"], [Types.LONG(), Types.LONG()])
        >>> schema = MaxwellJsonDeserializationSchema(row_type)
        >>> message = b'{"type": "update", "data": {"id": 7, "n": 2}, "old": {"n": 1}}'
        >>> schema.deserialize_batch([message]).to_rows().values
        [Row(id=7, n=1), Row(id=7, n=2)]
    """

    def changes(self, message: bytes) -> Sequence[Change]:
        parsed = _read_message(message)
        if parsed.type in _NO_ROWS:
            return ()
        if parsed.data == NULL:
            raise ValueError("it has no data")
        if parsed.type in ("insert", "bootstrap-insert"):
            return ((INSERT, parsed.data),)
        if parsed.type == "delete":
            return ((DELETE, parsed.data),)
        if parsed.type != "update":
            raise ValueError(f"its type {parsed.type!r} is not one of insert, update and delete")
        if parsed.old == NULL:
            raise ValueError("it updates a row, but has no old values of the row ('old')")
        old = merged(parsed.old, parsed.data)
        return (UPDATE_BEFORE, old), (UPDATE_AFTER, parsed.data)

    def __reduce__(self) -> tuple[Any, ...]:
        flags = (self._ignore_parse_errors, self._null_for_wrong_fields)
        return MaxwellJsonDeserializationSchema, (self._type_info, *flags)


class MaxwellJsonSerializationSchema(ChangeSerializationSchema):
    """Writes rows as Maxwell's messages: ``insert`` and ``delete``.

    Example:
        >>> from millrace.common import Row, Types
        >>> schema = MaxwellJsonSerializationSchema(Types.ROW_NAMED(["id"], [Types.LONG()]))
        >>> schema.serialize(Row(id=7))
        b'{"data":{"id":7},"type":"insert"}'
    """

    _added = b'{"data":%s,"type":"insert"}'
    _deleted = b'{"data":%s,"type":"delete"}'
