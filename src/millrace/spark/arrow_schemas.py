"""Arrow schemas of DataFrames, for all versions of PySpark 4."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

__all__ = ["arrow_schema_in"]


def arrow_schema_in(
    schema: StructType, timezone: str, prefers_large_types: bool = False
) -> pa.Schema:
    """Arrow schema of rows whose timestamps are in a time zone.

    Args:
        prefers_large_types: whether texts and bytes have 64-bit offsets.

    Raises:
        PySparkException: Arrow has no type for a column.
    """
    convert: Any = to_arrow_schema
    if "timezone" in signature(convert).parameters:
        return convert(schema, timezone=timezone, prefers_large_types=prefers_large_types)
    # before PySpark 4.2, always in UTC
    made = convert(schema, prefers_large_types=prefers_large_types)
    return pa.schema([field.with_type(_in_zone(field.type, timezone)) for field in made])


def _in_zone(kind: pa.DataType, timezone: str) -> pa.DataType:
    """A type with the time zone in all its timestamps that have one."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, timezone)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_in_zone(f.type, timezone)) for f in kind.fields])
    if pa.types.is_map(kind):
        item = kind.item_field.with_type(_in_zone(kind.item_type, timezone))
        return pa.map_(_in_zone(kind.key_type, timezone), item)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_zone(kind.value_type, timezone)))
    return kind
