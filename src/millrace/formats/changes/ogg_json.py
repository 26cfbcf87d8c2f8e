"""Changes in Oracle GoldenGate's format. Flink docs: "Ogg format"."""

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
)

__all__ = ["OggJsonDeserializationSchema", "OggJsonSerializationSchema"]


class _Message(msgspec.Struct, gc=False):
    op_type: str
    before: msgspec.Raw = NULL
    after: msgspec.Raw = NULL


_read_message = msgspec.json.Decoder(_Message).decode


class OggJsonDeserializationSchema(ChangeDeserializationSchema):
    """Reads GoldenGate's messages: ``I``, ``U`` as UPDATE_BEFORE and UPDATE_AFTER, and ``D``;
    truncates (``T``) are skipped.

    Args:
        type_info: type of the rows.
        ignore_parse_errors: leave broken messages out.
        null_for_wrong_fields: read fields of a wrong type as None.

    Example:
        >>> from millrace.common import Types
        >>> schema = OggJsonDeserializationSchema(Types.ROW_NAMED(["id"], [Types.LONG()]))
        >>> rows = schema.deserialize_batch([b'{"op_type": "D", "before": {"id": 7}}'])
        >>> [(row.get_row_kind().name, row) for row in rows.to_rows().values]
        [('DELETE', Row(id=7))]
    """

    def changes(self, message: bytes) -> Sequence[Change]:
        change = _read_message(message)
        op, before, after = change.op_type, change.before, change.after
        if op == "I":
            return ((INSERT, _present(after, "after", op)),)
        if op == "U":
            old = _present(before, "before", op)
            return (UPDATE_BEFORE, old), (UPDATE_AFTER, _present(after, "after", op))
        if op == "D":
            return ((DELETE, _present(before, "before", op)),)
        if op == "T":
            return ()
        raise ValueError(f"its op_type {op!r} is not one of I, U and D")

    def __reduce__(self) -> tuple[Any, ...]:
        flags = (self._ignore_parse_errors, self._null_for_wrong_fields)
        return OggJsonDeserializationSchema, (self._type_info, *flags)


class OggJsonSerializationSchema(ChangeSerializationSchema):
    """Writes rows as GoldenGate's messages ``I`` and ``D``.

    Example:
        >>> from millrace.common import Row, RowKind, Types
        >>> schema = OggJsonSerializationSchema(Types.ROW_NAMED(["id"], [Types.LONG()]))
        >>> schema.serialize(Row.of_kind(RowKind.DELETE, id=7))
        b'{"before":{"id":7},"after":null,"op_type":"D"}'
    """

    _added = b'{"before":null,"after":%s,"op_type":"I"}'
    _deleted = b'{"before":%s,"after":null,"op_type":"D"}'


def _present(fields: msgspec.Raw, name: str, op: str) -> msgspec.Raw:
    if fields == NULL:
        raise ValueError(f"its {name!r} is null, although its op_type is {op!r}")
    return fields
