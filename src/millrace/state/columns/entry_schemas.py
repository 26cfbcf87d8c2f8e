"""Schemas of the entries of columnar state: names and types as the query has them, to be shown.

What restores the state looks at the Arrow types alone; these say what to call the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.arrow_type import logical_type_of
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.record_fields import positions
from millrace.state.serialization.schema import ANY, Schema

if TYPE_CHECKING:
    from millrace.state.columns.columnar_table import ColumnsOf

__all__ = ["entry_schemas"]


def entry_schemas(columns: ColumnsOf) -> tuple[Schema, Schema, Schema]:
    """The schemas of an entry's key, of what tells the entries of a key apart, and of its value."""
    fields = list(columns.schema())
    end = len(columns.key) + len(columns.inner)
    key, inner, value = fields[: len(columns.key)], fields[len(columns.key) : end], fields[end:]
    names = [
        *(columns.row_names or positions(len(columns.row))),
        *(column.name or f"value{number}" for number, column in enumerate(columns.values)),
    ]
    key_names = columns.key_names or positions(len(key))
    return (
        _part(key_names, key),
        _part(positions(len(inner)), inner),
        str(_row(names, value)) if value else ANY,
    )


def _part(names: Sequence[str], fields: Sequence[pa.Field]) -> Schema:
    """A value, or a row of several; no value without columns."""
    if len(fields) == 1:
        return str(_type(fields[0]))
    return str(_row(names, fields)) if fields else ANY


def _row(names: Sequence[str], fields: Sequence[pa.Field]) -> LogicalType:
    return RowType.of(*zip(_distinct(names), map(_type, fields), strict=True))


def _type(field: pa.Field) -> LogicalType:
    try:
        return parse_type(ANY) if field.metadata else logical_type_of(field.type)
    except JobDefinitionError:
        return parse_type(ANY)


def _distinct(names: Iterable[str]) -> list[str]:
    """The names, with a number behind those that are there already."""
    found: list[str] = []
    for name in names:
        number, made = 2, name
        while made in found:
            made, number = f"{name}_{number}", number + 1
        found.append(made)
    return found
