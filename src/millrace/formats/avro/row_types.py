"""Row types of Avro schemas, and Avro schemas of row types (Flink: ``AvroSchemaConverter``)."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.formats.avro.avro_type import AvroType

__all__ = ["avro_definition", "plain_definition", "type_info_of"]

_TIMESTAMPS = (
    *("timestamp-millis", "timestamp-micros"),
    *("local-timestamp-millis", "local-timestamp-micros"),
)
_INFOS = {
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "enum": Types.STRING,
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "decimal": Types.BIG_DEC,
    "uuid": Types.STRING,
    **dict.fromkeys(_TIMESTAMPS, Types.SQL_TIMESTAMP),
}


def type_info_of(kind: AvroType) -> TypeInformation[Any]:
    """Type of the values that are read.

    A union of several types is pickled, as Flink's is a generic type.

    Example:
        >>> type_info_of(AvroType("array", element=AvroType("int"))).name
        'LIST(INT)'
    """
    if kind.kind == "record":
        return row_type_of(kind)
    if kind.kind == "array" and kind.element is not None:
        return Types.LIST(type_info_of(kind.element))
    if kind.kind == "map" and kind.element is not None:
        return Types.MAP(Types.STRING(), type_info_of(kind.element))
    factory = _INFOS.get(kind.logical or kind.kind)
    if factory is not None:
        return factory()
    if kind.kind in ("bytes", "fixed"):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return Types.PICKLED_BYTE_ARRAY()


def row_type_of(kind: AvroType) -> RowTypeInfo:
    """Row type of the rows that a record becomes."""
    names = [entry.name for entry in kind.fields]
    return Types.ROW_NAMED(names, [type_info_of(entry.type) for entry in kind.fields])


def avro_definition(
    row_type: RowTypeInfo | logical.RowType, name: str = "record"
) -> dict[str, Any]:
    """Schema for rows of a type; every field may be null, as in Flink.

    Raises:
        JobDefinitionError: a type has no counterpart in Avro.

    Example:
        >>> avro_definition(Types.ROW_NAMED(["n"], [Types.INT()]))["fields"]
        [{'name': 'n', 'type': ['null', 'int'], 'default': None}]
    """
    kind = row_type if isinstance(row_type, logical.RowType) else row_type.logical_type
    definition: dict[str, Any] = _definition(kind, name)
    return definition


def _definition(kind: LogicalType, name: str) -> Any:
    if isinstance(kind, logical.RowType):
        fields = [
            {
                "name": field.name,
                "type": ["null", _definition(field.type, f"{name}_{field.name}")],
                "default": None,
            }
            for field in kind.fields
        ]
        return {"type": "record", "name": name, "fields": fields}
    if isinstance(kind, logical.ArrayType):
        return {"type": "array", "items": ["null", _definition(kind.element_type, name)]}
    if isinstance(kind, logical.MapType):
        if not isinstance(kind.key_type, logical.VarCharType | logical.CharType):
            raise JobDefinitionError(f"keys of Avro's maps are texts, not {kind.key_type}")
        return {"type": "map", "values": ["null", _definition(kind.value_type, name)]}
    return plain_definition(kind)


def plain_definition(kind: LogicalType) -> Any:
    """Schema of a scalar type.

    Raises:
        JobDefinitionError: the type has no counterpart in Avro.
    """
    if isinstance(kind, logical.DecimalType):
        digits = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if (
        isinstance(kind, logical.TimestampType | logical.LocalZonedTimestampType)
        and kind.unit == "ns"
    ):
        raise JobDefinitionError(
            f"{kind} has no counterpart in Avro, whose times have six digits of a second at most"
        )
    definition = _DEFINITIONS.get(type(kind))
    if definition is None:
        raise JobDefinitionError(f"{kind} has no counterpart in Avro; map the field to another")
    return definition


_DEFINITIONS: dict[type[LogicalType], Any] = {
    logical.BooleanType: "boolean",
    logical.TinyIntType: "int",
    logical.SmallIntType: "int",
    logical.IntType: "int",
    logical.BigIntType: "long",
    logical.FloatType: "float",
    logical.DoubleType: "double",
    logical.CharType: "string",
    logical.VarCharType: "string",
    logical.BinaryType: "bytes",
    logical.VarBinaryType: "bytes",
    logical.DateType: {"type": "int", "logicalType": "date"},
    logical.TimeType: {"type": "int", "logicalType": "time-millis"},
    logical.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    logical.LocalZonedTimestampType: {"type": "long", "logicalType": "timestamp-micros"},
}
