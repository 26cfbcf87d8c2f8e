"""Values of FLOAT as Python floats, which have twice the bits.

The number of 64 bits that is shown as the number of 32 bits is: 1.23, not 1.2300000190734863. So
do Flink's results reach Python, too: as text.
"""

from __future__ import annotations

from typing import Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType

__all__ = ["with_short_floats"]


def with_short_floats(batch: Any, row_type: RowType) -> Any:
    """The record batch with FLOAT columns, at any depth, converted to 64 bits."""
    if not _has_floats(row_type):
        return batch
    import pyarrow as pa

    columns = [
        _shortened(column) if _has_floats(field.type) else column
        for column, field in zip(batch.columns, row_type, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _has_floats(kind: LogicalType) -> bool:
    return isinstance(kind, logical.FloatType) or any(map(_has_floats, kind.children()))


def _shortened(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_float32(column.type):
        return column.cast(pa.string()).cast(pa.float64())
    return column.cast(_replaced(column.type, pa.string())).cast(
        _replaced(column.type, pa.float64())
    )


def _replaced(kind: Any, wanted: Any) -> Any:
    """The Arrow type with another type in place of 32-bit floats."""
    import pyarrow as pa

    if pa.types.is_float32(kind):
        return wanted
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_replaced(kind.value_type, wanted)))
    if pa.types.is_map(kind):
        key = kind.key_field.with_type(_replaced(kind.key_type, wanted))
        return pa.map_(key, kind.item_field.with_type(_replaced(kind.item_type, wanted)))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_replaced(each.type, wanted)) for each in kind])
    return kind
