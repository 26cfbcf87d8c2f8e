"""Flink types to Arrow types, for Parquet."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
)
from millrace.common.types.type_information import TypeInformation

__all__ = ["arrow_schema", "require_pyarrow"]


def require_pyarrow() -> Any:
    """The module `pyarrow`.

    Raises:
        JobDefinitionError: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise JobDefinitionError(
            "Parquet needs pyarrow, which is not installed: pip install 'millrace[parquet]'"
        ) from None
    return pyarrow


def arrow_schema(row_type: RowTypeInfo, utc_timestamp: bool = False) -> Any:
    """The `pyarrow.Schema` of a row type.

    Raises:
        JobDefinitionError: a field's type has no counterpart in Arrow.
    """
    pa = require_pyarrow()
    names, types = row_type.get_field_names(), row_type.get_field_types()
    pairs = zip(names, types, strict=True)
    return pa.schema([(name, _arrow_type(pa, item, utc_timestamp)) for name, item in pairs])


def _arrow_type(pa: Any, type_info: TypeInformation, utc: bool) -> Any:
    if isinstance(type_info, ListTypeInfo):
        if type_info.name == "PRIMITIVE_ARRAY(BYTE)":
            return pa.binary()
        return pa.list_(_arrow_type(pa, type_info.element_type, utc))
    if isinstance(type_info, MapTypeInfo):
        key, value = type_info.key_type, type_info.value_type
        return pa.map_(_arrow_type(pa, key, utc), _arrow_type(pa, value, utc))
    if isinstance(type_info, RowTypeInfo):
        return pa.struct(list(arrow_schema(type_info, utc)))
    return _plain_type(pa, type_info, utc)


def _plain_type(pa: Any, type_info: TypeInformation, utc: bool) -> Any:
    plain = {
        "STRING": pa.string(),
        "CHAR": pa.string(),
        "BOOLEAN": pa.bool_(),
        "BYTE": pa.int8(),
        "SHORT": pa.int16(),
        "INT": pa.int32(),
        "LONG": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "BIG_INT": pa.decimal128(38, 0),
        "BIG_DEC": pa.decimal128(38, 18),
        "SQL_DATE": pa.date32(),
        "SQL_TIME": pa.time64("us"),
        "SQL_TIMESTAMP": pa.timestamp("us", "UTC" if utc else None),
    }
    if type_info.name not in plain:
        raise JobDefinitionError(
            f"{type_info.name} has no counterpart in Parquet; map the field to a plain type, or "
            "pass a pyarrow schema"
        )
    return plain[type_info.name]
