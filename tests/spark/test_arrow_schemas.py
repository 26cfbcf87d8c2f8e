"""Arrow schemas of DataFrames, by old and new versions of PySpark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millrace.spark import arrow_schemas

NESTED = StructType([StructField("at", TimestampType(), False)])
SCHEMA = StructType(
    [
        StructField("id", LongType(), False),
        StructField("at", TimestampType()),
        StructField("local", TimestampNTZType()),
        StructField("all", ArrayType(TimestampType(), False)),
        StructField("by", MapType(StringType(), TimestampType())),
        StructField("in", NESTED),
    ]
)


def test_old_versions_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before PySpark 4.2, there was no argument for the time zone."""
    new = arrow_schemas.arrow_schema_in(SCHEMA, "Europe/Berlin")
    assert new.field("at").type == pa.timestamp("us", "Europe/Berlin")
    convert: Any = arrow_schemas.to_arrow_schema

    def old(schema: StructType, prefers_large_types: bool = False) -> pa.Schema:
        return convert(schema, timezone="UTC", prefers_large_types=prefers_large_types)

    monkeypatch.setattr(arrow_schemas, "to_arrow_schema", old)
    assert arrow_schemas.arrow_schema_in(SCHEMA, "Europe/Berlin") == new
