"""Key columns of a columnar batch, if the key selector names fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millrace.common.functions.key_selector import CompositeKey, FieldKey, PositionKey
from millrace.common.types.batch import ColumnBatch

if TYPE_CHECKING:
    import pyarrow as pa

    from millrace.state.column_key_groups import KeyColumns

_NAMED = frozenset({"dict", "row"})
_ORDERED = frozenset({"row", "tuple"})


def key_columns(
    selector: Callable[[Any], Any] | None, batch: ColumnBatch, sql_keys: bool = False
) -> KeyColumns | None:
    """Column of the key, or the columns of the parts if the key has several parts.

    Args:
        sql_keys: whether lists are keys by their content, as the arrays and maps of SQL are.

    None: the selector is a function, records of the batch's form have no such field, or it has
    lists; then the keys come from the records.
    """
    data = batch.data
    if isinstance(selector, FieldKey):
        if batch.form in _NAMED and data.schema.names.count(selector.name) == 1:
            column = data.column(selector.name)
            return column if sql_keys else _without_lists(column)
    elif isinstance(selector, PositionKey):
        width = data.num_columns
        if batch.form in _ORDERED and -width <= selector.position < width:
            column = data.column(selector.position % width)
            return column if sql_keys else _without_lists(column)
    elif isinstance(selector, CompositeKey):
        parts = [key_columns(part, batch, sql_keys) for part in selector.parts]
        if all(part is not None for part in parts):
            return tuple(parts)
    return None


def _without_lists(column: pa.Array) -> pa.Array | None:
    """The column; None if its values are lists. As keys, lists are equal to tuples with the same
    elements, which columns cannot express."""
    from pyarrow import types

    kind = column.type
    are_lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return None if are_lists else column


def key_objects(columns: KeyColumns) -> list[Any]:
    """The keys in key columns, as Python objects."""
    if isinstance(columns, tuple):
        return list(zip(*map(key_objects, columns), strict=True))
    keys: list[Any] = columns.to_pylist()
    return keys
