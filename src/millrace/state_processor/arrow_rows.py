"""Rows of a DataFrame as Python values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["columns_of"]


def columns_of(batch: Any) -> list[Sequence[Any]]:
    """The values of the columns of an Arrow batch; maps are dicts, structs too."""
    return [_values(column) for column in batch.columns]


def _values(column: Any) -> Sequence[Any]:
    values: list[Any] = column.to_pylist()
    convert = _converter(column.type)
    return values if convert is None else list(map(convert, values))


def _converter(kind: Any) -> Callable[[Any], Any] | None:
    """What makes dicts of the pairs that Arrow gives for maps; None: there is no map in it."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        return _map(_converter(kind.item_type))
    if pa.types.is_list(kind):
        return _list(_converter(kind.value_type))
    if pa.types.is_struct(kind):
        fields = {field.name: _converter(field.type) for field in kind}
        return _struct({name: found for name, found in fields.items() if found is not None})
    return None


def _map(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    def entries(pairs: Any) -> Any:
        if pairs is None or convert is None:
            return None if pairs is None else dict(pairs)
        return {key: convert(value) for key, value in pairs}

    return entries


def _list(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    if convert is None:
        return None
    return lambda values: None if values is None else list(map(convert, values))


def _struct(fields: dict[str, Callable[[Any], Any]]) -> Callable[[Any], Any] | None:
    if not fields:
        return None

    def converted(value: Any) -> Any:
        if value is None:
            return None
        return {**value, **{name: convert(value[name]) for name, convert in fields.items()}}

    return converted
