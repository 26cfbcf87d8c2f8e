"""Avro schemas of table columns (Flink: ``AvroSchemaConverter.convertToSchema``)."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.formats.avro.avro_schema import AvroSchema
from millrace.formats.avro.row_types import plain_definition

__all__ = ["table_schema"]

_NAME = "org.apache.flink.avro.generated.record"
"""Flink's name of the record; a registry compares names, too."""


def table_schema(columns: RowType, legacy_timestamps: bool = True) -> AvroSchema:
    """Schema for rows with the given columns; nullable columns are unions with null.

    Args:
        legacy_timestamps: whether ``TIMESTAMP`` is written as a point in time, as in Flink before
            1.19, and ``TIMESTAMP_LTZ`` is refused; otherwise ``TIMESTAMP`` is a local time.

    Raises:
        JobDefinitionError: a column's type has no counterpart in Avro.

    Example:
        >>> columns = RowType.of(("id", logical.BigIntType(nullable=False)))
        >>> table_schema(columns).definition["fields"]
        [{'name': 'id', 'type': 'long'}]
    """
    return AvroSchema(_Mapping(legacy_timestamps).record(columns, _NAME))


class _Mapping:
    def __init__(self, legacy_timestamps: bool) -> None:
        self._legacy = legacy_timestamps

    def record(self, columns: RowType, name: str) -> dict[str, Any]:
        fields = []
        for column in columns.fields:
            try:
                field = {
                    "name": column.name,
                    "type": self._of(column.type, f"{name}_{column.name}"),
                }
            except JobDefinitionError as error:
                raise JobDefinitionError(f"column {column.name}: {error}") from None
            fields.append({**field, "default": None} if column.type.is_nullable else field)
        return {"type": "record", "name": name, "fields": fields}

    def _of(self, kind: LogicalType, name: str) -> Any:
        schema = self._required(kind, name)
        return ["null", schema] if kind.is_nullable else schema

    def _required(self, kind: LogicalType, name: str) -> Any:
        if isinstance(kind, RowType):
            return self.record(kind, name)
        if type(kind) is logical.ArrayType:
            return {"type": "array", "items": self._of(kind.element_type, name)}
        if type(kind) is logical.MapType:
            if not isinstance(kind.key_type, logical.VarCharType | logical.CharType):
                raise JobDefinitionError(f"keys of Avro's maps are texts, not {kind.key_type}")
            return {"type": "map", "values": self._of(kind.value_type, name)}
        if isinstance(kind, logical.TimestampType | logical.LocalZonedTimestampType):
            return {"type": "long", "logicalType": self._timestamp(kind)}
        if isinstance(kind, logical.TimeType) and kind.precision > 3:
            raise JobDefinitionError(f"Avro does not hold {kind}; declare TIME(3)")
        return plain_definition(kind)

    def _timestamp(self, kind: logical.TimestampType | logical.LocalZonedTimestampType) -> str:
        local = isinstance(kind, logical.TimestampType)
        most = 3 if self._legacy else 6
        if kind.precision > most or (self._legacy and not local):
            raise JobDefinitionError(
                f"Avro does not hold {kind} in the old mapping of timestamps, which has only "
                "TIMESTAMP(3); set 'timestamp_mapping.legacy' of the format to 'false'"
                if self._legacy
                else f"Avro does not hold {kind}: 6 digits are the most"
            )
        unit = "millis" if kind.precision <= 3 else "micros"
        return f"{'local-' if local and not self._legacy else ''}timestamp-{unit}"
