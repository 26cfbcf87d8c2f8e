"""Conversion of times in ORC files from nanoseconds to Python's microseconds."""

from __future__ import annotations

from typing import Any

__all__ = ["in_microseconds"]


def in_microseconds(batch: Any) -> Any:
    """The batch with times in microseconds, as in Python; ORC has nanoseconds."""
    import pyarrow as pa

    fields = [field.with_type(_microseconds(field.type)) for field in batch.schema]
    schema = pa.schema(fields)
    return batch if schema.equals(batch.schema) else batch.cast(schema, safe=False)


def _microseconds(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_microseconds(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_microseconds(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_microseconds(kind.key_type), _microseconds(kind.item_type))
    return kind
