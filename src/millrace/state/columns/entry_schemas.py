"""Schemas of the entries of columnar state, with the names and types of the query, for display.

A restore uses only the Arrow types; these schemas give the names of the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.arrow_type import logical_type_of
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.record_fields import positions
from millrace.state.serialization.schema import ANY, Schema

__all__ = ["entry_schemas"]


Named = Sequence[tuple[str, pa.Field]]
"""Columns with their names, which may be empty."""


def entry_schemas(key: Named, inner: Named, value: Named) -> tuple[Schema, Schema, Schema]:
    """Schemas of the key, the inner key and the value of a table's entries. The inner key
    distinguishes the entries of one key."""
    return _part(key), _part(inner), str(_row(value)) if value else ANY


def _part(columns: Named) -> Schema:
    """Schema of a value, or of a row of several; without columns, the schema of no value."""
    if len(columns) == 1:
        return str(_type(columns[0][1]))
    return str(_row(columns)) if columns else ANY


def _row(columns: Named) -> LogicalType:
    places = zip(columns, positions(len(columns)), strict=True)
    names = [name or position for (name, _), position in places]
    return RowType.of(*zip(_distinct(names), (_type(field) for _, field in columns), strict=True))


def _type(field: pa.Field) -> LogicalType:
    try:
        return parse_type(ANY) if field.metadata else logical_type_of(field.type)
    except JobDefinitionError:
        return parse_type(ANY)


def _distinct(names: Iterable[str]) -> list[str]:
    """The names, with a number appended to each that has occurred before."""
    found: list[str] = []
    for name in names:
        number, made = 2, name
        while made in found:
            made, number = f"{name}_{number}", number + 1
        found.append(made)
    return found
