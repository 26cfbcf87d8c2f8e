"""Access to parts of arrays, maps and rows: ``x[key]`` (ITEM) and ``x.name`` (GET)."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowField
from millrace.expressions.call_options import FieldPosition, option
from millrace.expressions.columns import CallSite, Datum, per_value
from millrace.expressions.function_definition import CallContext, FunctionResolutionError
from millrace.expressions.functions.lists import looked_up
from millrace.expressions.type_merging import common_type

__all__ = ["get", "get_type", "item", "item_type"]


def item_type(context: CallContext) -> LogicalType:
    """Type of an element, a value or a field; always nullable."""
    kind = context.types[0]
    if isinstance(kind, logical.RowType):
        return _field(kind, context).type.with_nullable(True)
    place = context.literals[1] if context.name == "ITEM" else None
    if isinstance(kind, logical.ArrayType) and isinstance(place, int) and place < 1:
        raise FunctionResolutionError(
            f"the first element of an array is 1; {place} is none: write x[CARDINALITY(x)] "
            "for the last one"
        )
    if isinstance(kind, logical.MapType) and not common_type((kind.key_type, context.types[1])):
        raise FunctionResolutionError(f"{context.types[1]} is no key of {kind}")
    return kind.children()[-1].with_nullable(True)


def _field(kind: logical.RowType, context: CallContext) -> RowField:
    position = _position(kind, context.literals[1] if len(context.literals) > 1 else None)
    if position is None:
        raise FunctionResolutionError(
            f"a field of {kind} is taken by a constant: its name, or a number from 1 to {len(kind)}"
        )
    return kind.fields[position]


def _position(kind: logical.RowType, key: Any) -> int | None:
    """Position of the field with a name, or with a number from 1; None if there is no such
    field."""
    if isinstance(key, str):
        return kind.names.index(key) if key in kind.names else None
    return key - 1 if isinstance(key, int) and 1 <= key <= len(kind) else None


def item(site: CallSite, value: Datum, key: Datum) -> Datum:
    """The item ``value[key]``; NULL if there is none."""
    kind = site.argument_types[0]
    if isinstance(kind, logical.RowType):
        return pc.struct_field(value, _position(kind, key.as_py()))
    if isinstance(kind, logical.MapType):
        return per_value(looked_up, site.arrow, value, key)
    return per_value(
        lambda items, at: items[at - 1] if 1 <= at <= len(items) else None, site.arrow, value, key
    )


def get_type(context: CallContext) -> LogicalType:
    """The type of a row's field."""
    kind, field = context.types[0], option(FieldPosition, context.options)
    assert field is not None
    assert isinstance(kind, logical.RowType)
    part: LogicalType = kind.fields[field.index].type
    return part.with_nullable(part.is_nullable or kind.is_nullable)


def get(site: CallSite, value: Datum) -> Datum:
    """Field of a row."""
    field = option(FieldPosition, site.options)
    assert field is not None
    return pc.struct_field(value, field.index)
