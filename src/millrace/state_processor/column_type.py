"""The types of columns: found from values, merged over many of them.

Spark needs one type for a column before it has seen a row; state holds any Python value. What has
no type in Spark, or several that do not go together, becomes text: ``JSON``.
"""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from millrace.common.types.collection_types import SetTypeInfo
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.logical.logical_type import quoted
from millrace.common.types.record_fields import declared_names, positions
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation

__all__ = [
    "JSON",
    "NULL",
    "Column",
    "ColumnType",
    "common_type",
    "declared",
    "fits",
    "merged",
    "type_of",
]


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type as Spark SQL names it; ``null`` is not known yet, ``json`` is text."""

    name: str
    parts: tuple[ColumnType, ...] = ()
    """Of an array its elements', of a map its keys' and values', of a struct its fields'."""
    fields: tuple[str, ...] = ()
    """Names of a struct's fields."""

    @property
    def ddl(self) -> str:
        """As in Spark's DDL."""
        if self.name in ("null", "json", "text"):
            return "string"
        if self.name == "struct":
            pairs = zip(self.fields, self.parts, strict=True)
            inner = ", ".join(f"{quoted(name)}: {part.ddl}" for name, part in pairs)
            return f"struct<{inner}>"
        if self.parts:
            return f"{self.name}<{', '.join(part.ddl for part in self.parts)}>"
        return _DDL.get(self.name, self.name)

    @property
    def has_json(self) -> bool:
        """Whether something in it is kept as the text of a JSON document."""
        return self.name == "json" or any(part.has_json for part in self.parts)


_DDL = {"wide": "bigint", "decimal": "decimal(38,18)", "interval": "interval day to second"}

NULL = ColumnType("null")
JSON = ColumnType("json")
TEXT = ColumnType("text")
"""Text that stands for a value which prints unmistakably: times of day, UUIDs, enums."""
BOOLEAN, BIGINT, DOUBLE = ColumnType("boolean"), ColumnType("bigint"), ColumnType("double")
WIDE = ColumnType("wide")
"""`BIGINT` with numbers that a double would round."""
STRING, BINARY, DECIMAL = ColumnType("string"), ColumnType("binary"), ColumnType("decimal")
DATE, INTERVAL = ColumnType("date"), ColumnType("interval")
TIMESTAMP, TIMESTAMP_NTZ = ColumnType("timestamp"), ColumnType("timestamp_ntz")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a DataFrame."""

    name: str
    type: ColumnType

    @property
    def ddl(self) -> str:
        """As in Spark's DDL; a comment says where there is JSON."""
        comment = " COMMENT 'JSON'" if self.type.has_json else ""
        return f"{quoted(self.name)} {self.type.ddl}{comment}"


def type_of(value: Any) -> ColumnType:
    """The type of a column with that value in it."""
    if value is None:
        return NULL
    exact = _EXACT.get(type(value))
    if exact is not None:
        return exact
    if isinstance(value, int) and not isinstance(value, enum.Enum):
        return _type_of_int(value)
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return STRING
    if isinstance(value, Decimal):
        return DECIMAL if _fits_decimal(value) else JSON
    if isinstance(value, dt.datetime):
        return TIMESTAMP_NTZ if value.tzinfo is None else TIMESTAMP
    if isinstance(value, (dt.time, uuid.UUID, enum.Enum)):
        return TEXT
    return _composite(value)


def _type_of_int(value: int) -> ColumnType:
    if -(2**53) <= value <= 2**53:
        return BIGINT
    return WIDE if -(2**63) <= value < 2**63 else JSON


_EXACT: dict[type, ColumnType] = {
    bool: BOOLEAN,
    float: DOUBLE,
    str: STRING,
    bytes: BINARY,
    bytearray: BINARY,
    dt.date: DATE,
    dt.timedelta: INTERVAL,
}


def _composite(value: Any) -> ColumnType:
    named = field_values(value)
    if named is not None:
        names, values = named
        return ColumnType("struct", tuple(map(type_of, values)), names) if names else JSON
    if isinstance(value, (list, set, frozenset, array)):
        return ColumnType("array", (common_type(value),))
    if isinstance(value, Mapping):
        return ColumnType("map", (common_type(value), common_type(value.values())))
    plain = plain_scalar(value)
    return JSON if plain is None else type_of(plain)


def field_values(value: Any) -> tuple[tuple[str, ...], tuple[Any, ...]] | None:
    """Names and values of something with fields; None: it has none.

    Fields without a name are called ``f0``, ``f1``, ... as in Flink.
    """
    names = declared_names(value)
    if isinstance(value, (Row, tuple)):
        return names or positions(len(value)), tuple(value)
    if names is not None:
        return names, tuple(getattr(value, name) for name in names)
    return None


def plain_scalar(value: Any) -> Any:
    """What a scalar or array of numpy is in plain Python; None for anything else."""
    if type(value).__module__ != "numpy":
        return None
    return value.tolist() if hasattr(value, "tolist") else None


def _fits_decimal(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -18 and value.adjusted() < 20


def common_type(values: Iterable[Any]) -> ColumnType:
    """The type of a column with all these values in it."""
    return reduce(merged, map(type_of, values), NULL)


def merged(one: ColumnType, other: ColumnType) -> ColumnType:
    """The type of a column with values of both types."""
    if one == other or other is NULL or other.name == "null":
        return one
    if one.name == "null":
        return other
    if {one.name, other.name} <= _NUMBERS:
        return _merged_numbers({one.name, other.name})
    if {one.name, other.name} == {"string", "text"}:
        return TEXT
    if one.name == other.name == "struct":
        return _merged_structs(one, other)
    if one.name == other.name and one.parts:
        return ColumnType(one.name, tuple(map(merged, one.parts, other.parts)))
    return JSON


_NUMBERS = {"bigint", "wide", "double", "decimal"}


def _merged_numbers(names: set[str]) -> ColumnType:
    if names == {"wide", "double"}:
        return JSON
    if names == {"bigint", "wide"}:
        return WIDE
    return DOUBLE if "double" in names else DECIMAL


def fits(found: ColumnType, column: ColumnType) -> bool:
    """Whether a value of the type ``found`` can be in such a column."""
    if column == BIGINT and found == WIDE:
        return True
    return found == column or merged(found, column) == column


def _merged_structs(one: ColumnType, other: ColumnType) -> ColumnType:
    """Fields by name: a field that only one has is null in the other."""
    fields = dict(zip(one.fields, one.parts, strict=True))
    for name, part in zip(other.fields, other.parts, strict=True):
        fields[name] = merged(fields.get(name, NULL), part)
    return ColumnType("struct", tuple(fields.values()), tuple(fields))


def declared(info: TypeInformation[Any]) -> ColumnType | None:
    """The type of a column of a declared type; None: it has to be found from the values."""
    if isinstance(info, ListTypeInfo):
        if info.name == "PRIMITIVE_ARRAY(BYTE)":
            return BINARY
        return _made("array", [info.element_type])
    if isinstance(info, SetTypeInfo):
        return _made("array", [info.element_type])
    if isinstance(info, MapTypeInfo):
        return _made("map", [info.key_type, info.value_type])
    if isinstance(info, RowTypeInfo):
        return _made("struct", info.get_field_types(), tuple(info.get_field_names()))
    if isinstance(info, TupleTypeInfo):
        return _made("struct", list(info.types), positions(len(info.types)))
    return _DECLARED.get(info.name)


_DECLARED = {
    "STRING": STRING,
    "CHAR": STRING,
    "BOOLEAN": BOOLEAN,
    "BYTE": BIGINT,
    "SHORT": BIGINT,
    "INT": BIGINT,
    "LONG": BIGINT,
    "FLOAT": DOUBLE,
    "DOUBLE": DOUBLE,
    "SQL_DATE": DATE,
    "SQL_TIME": TEXT,
    "BYTES": BINARY,
}


def _made(
    name: str, parts: list[TypeInformation[Any]], fields: tuple[str, ...] = ()
) -> ColumnType | None:
    found = tuple(map(declared, parts))
    known = tuple(part for part in found if part is not None)
    return ColumnType(name, known, fields) if len(known) == len(found) else None
