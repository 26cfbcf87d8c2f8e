"""The Arrow schema of Parquet files for a row type."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
    RawType,
    RowType,
    TimestampType,
    rewritten,
)

__all__ = ["arrow_schema"]


def arrow_schema(row_type: RowTypeInfo | RowType, utc_timestamp: bool = False) -> Any:
    """The `pyarrow.Schema` of a row type.

    Raises:
        JobDefinitionError: a field's type has no counterpart in Parquet.
    """
    import pyarrow as pa

    def stored(kind: LogicalType) -> LogicalType:
        if isinstance(kind, RawType):
            raise JobDefinitionError(
                f"{kind} has no counterpart in Parquet; map the field to a plain type, or pass a "
                "pyarrow schema"
            )
        if utc_timestamp and isinstance(kind, TimestampType):
            return LocalZonedTimestampType(kind.precision, nullable=kind.is_nullable)
        return kind

    kind = row_type if isinstance(row_type, RowType) else row_type.logical_type
    return pa.schema(list(arrow_type(rewritten(kind, stored))))
