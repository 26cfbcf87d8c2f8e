"""`misfit_of`: describes, for an error message, a returned value that does not have the function's
result type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.common.types.logical.logical_type import ArrayType, LogicalType, RowType
from millrace.common.types.logical.python_values import arrow_column
from millrace.common.types.row import Row

__all__ = ["CONVERSION_ERRORS", "misfit_of"]

CONVERSION_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""Errors that `arrow_column` and pyarrow raise if a value is not of the type."""
_SHOWN = 200


def misfit_of(values: Sequence[Any], kind: LogicalType, error: Exception) -> str:
    """Description of the first value that does not have the type. If it is an array or row, the
    description names the wrong element or field.

    Args:
        error: error from the conversion of all values.

    Example:
        >>> from millrace.common.types.logical.logical_type import BigIntType
        >>> misfit_of([1, "x"], BigIntType(), ValueError())
        "'x', of the type str"
        >>> rows = RowType.of(("a", BigIntType()), ("b", BigIntType()))
        >>> misfit_of([(1, 2), (1, "x")], rows, ValueError())
        "'x', of the type str, in the column b"
        >>> misfit_of([(1,)], rows, ValueError())
        '(1,), which has 1 value for 2 columns'
    """
    for value in values:
        if not _fits(value, kind):
            return _told(value, kind, error)
    return f"values that do not go together ({error})"


def _told(value: Any, kind: LogicalType, error: Exception) -> str:
    shown = repr(value)[:_SHOWN]
    if isinstance(kind, ArrayType) and isinstance(value, (list, tuple)):
        return misfit_of(value, kind.element_type, error)
    if isinstance(kind, RowType) and isinstance(value, (list, tuple, Row)):
        given = len(value)
        if given != len(kind):
            return f"{shown}, which has {given} value{'s'[: given != 1]} for {len(kind)} columns"
        for item, field in zip(value, kind.fields, strict=True):
            if not _fits(item, field.type):
                return f"{_told(item, field.type, error)}, in the column {field.name}"
    return f"{shown}, of the type {type(value).__name__}"


def _fits(value: Any, kind: LogicalType) -> bool:
    try:
        arrow_column([value], kind)
    except CONVERSION_ERRORS:
        return False
    return True
