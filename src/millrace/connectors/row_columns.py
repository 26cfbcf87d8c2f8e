"""Conversion of rows from database drivers to Arrow columns of a declared type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from millrace.connectors.errors import ConnectorError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["as_columns"]

_BYTES = (bytes, bytearray, memoryview)


def as_columns(
    rows: Sequence[Sequence[Any]], schema: pyarrow.Schema, kind: type[ConnectorError]
) -> pyarrow.RecordBatch:
    """Rows as Arrow columns.

    Args:
        kind: class of the source's errors.

    Raises:
        ConnectorError: of this kind; a value is not of its column's type.
    """
    import pyarrow as pa

    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    if not rows:
        columns = [[] for _ in schema]
    arrays = [_array(values, field, kind) for values, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


def _array(
    values: list[Any], field: pyarrow.Field, error_kind: type[ConnectorError]
) -> pyarrow.Array:
    import pyarrow as pa

    kind = field.type
    try:
        if not (pa.types.is_string(kind) and _has_bytes(values)):
            return pa.array(values, type=kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # not as the driver gives it: a UUID as text, a number as decimal
    try:
        if pa.types.is_string(kind):
            return pa.array(list(map(_text, values)), type=kind)
        if pa.types.is_time(kind):
            return pa.array(list(map(_time, values)), type=kind)
        return pa.array(values).cast(kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise error_kind(
            f"column '{field.name}' has values that are not of the type {kind}: {error}; "
            "declare another type with set_type_information() of the source"
        ) from None


def _has_bytes(values: list[Any]) -> bool:
    """Whether the values include bytes, which are always decoded as UTF-8 here; Arrow's
    treatment of bytes would depend on the other values."""
    return any(issubclass(kind, _BYTES) for kind in set(map(type, values)))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, _BYTES):
        return bytes(value).decode()
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _time(value: Any) -> Any:
    return (datetime.min + value).time() if isinstance(value, timedelta) else value
