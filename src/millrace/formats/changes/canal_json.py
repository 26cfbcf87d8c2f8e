"""Changes in Canal's format. Flink docs: "Canal format"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from millrace.common.errors import JobDefinitionError
from millrace.common.types.type_information import TypeInformation
from millrace.formats.changes.change_schema import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    Change,
    ChangeDeserializationSchema,
    ChangeSerializationSchema,
    merged,
)

__all__ = ["CanalJsonDeserializationSchema", "CanalJsonSerializationSchema"]


class _Message(msgspec.Struct, gc=False, rename={"is_ddl": "isDdl"}):
    type: str
    data: list[msgspec.Raw] | None = None
    old: list[msgspec.Raw] | None = None
    database: str | None = None
    table: str | None = None
    is_ddl: bool | None = None


_read_message = msgspec.json.Decoder(_Message).decode


class CanalJsonDeserializationSchema(ChangeDeserializationSchema):
    """Reads Canal's messages, each with rows of one kind: ``INSERT``, ``UPDATE`` or ``DELETE``.
    Schema changes are skipped.

    Args:
        type_info: type of the rows.
        database_include: only changes of databases whose whole name this matches.
        table_include: only changes of tables whose whole name this matches.
        ignore_parse_errors: leave broken messages out.
        null_for_wrong_fields: read fields of a wrong type as None.

    Example:
        >>> from millrace.common import Types
        >>> schema = CanalJsonDeserializationSchema(Types.ROW_NAMED(["id"], [Types.LONG()]))
        >>> message = b'{"data": [{"id": "1"}, {"id": "2"}], "type": "INSERT"}'
        >>> schema.deserialize_batch([message]).to_rows().values
        [Row(id=1), Row(id=2)]
    """

    def __init__(
        self,
        type_info: TypeInformation[Any],
        database_include: str | None = None,
        table_include: str | None = None,
        ignore_parse_errors: bool = False,
        null_for_wrong_fields: bool = False,
    ) -> None:
        super().__init__(type_info, ignore_parse_errors, null_for_wrong_fields)
        self._includes = (database_include, table_include)
        self._database = _pattern("database_include", database_include)
        self._table = _pattern("table_include", table_include)

    def changes(self, message: bytes) -> Sequence[Change]:
        parsed = _read_message(message)
        if not (_matches(self._database, parsed.database) and _matches(self._table, parsed.table)):
            return ()
        if parsed.is_ddl or parsed.type == "CREATE":
            return ()
        if parsed.data is None:
            raise ValueError("it has no data")
        if parsed.type == "INSERT":
            return [(INSERT, fields) for fields in parsed.data]
        if parsed.type == "DELETE":
            return [(DELETE, fields) for fields in parsed.data]
        if parsed.type != "UPDATE":
            raise ValueError(f"its type {parsed.type!r} is not one of INSERT, UPDATE and DELETE")
        if parsed.old is None or len(parsed.old) != len(parsed.data):
            raise ValueError("it updates rows, but has no old values of each row ('old')")
        changes: list[Change] = []
        for old, new in zip(parsed.old, parsed.data, strict=True):
            changes += [(UPDATE_BEFORE, merged(old, new)), (UPDATE_AFTER, new)]
        return changes

    def __reduce__(self) -> tuple[Any, ...]:
        flags = (self._ignore_parse_errors, self._null_for_wrong_fields)
        return CanalJsonDeserializationSchema, (self._type_info, *self._includes, *flags)


class CanalJsonSerializationSchema(ChangeSerializationSchema):
    """Writes rows as Canal's messages with one row each: ``INSERT`` and ``DELETE``.

    Example:
        >>> from millrace.common import Row, Types
        >>> schema = CanalJsonSerializationSchema(Types.ROW_NAMED(["id"], [Types.LONG()]))
        >>> schema.serialize(Row(id=7))
        b'{"data":[{"id":7}],"type":"INSERT"}'
    """

    _added = b'{"data":[%s],"type":"INSERT"}'
    _deleted = b'{"data":[%s],"type":"DELETE"}'


def _pattern(name: str, text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise JobDefinitionError(f"{name}={text!r} is not a regular expression: {error}") from None


def _matches(pattern: re.Pattern[str] | None, name: str | None) -> bool:
    return pattern is None or (name is not None and pattern.fullmatch(name) is not None)
