"""Built-in rolling aggregations as reduce functions: sum, min, max, min_by, max_by.

``sum``, ``min`` and ``max`` keep the other fields of the first record; ``min_by`` and ``max_by``
keep the whole record that has the extreme value, the first one on a tie (Flink docs, "Operators").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

from millrace.common.errors import JobExecutionError
from millrace.common.types.row import Row

Position = int | str


def field_of(value: Any, position: Position) -> Any:
    """A field of a record, by position or name. A plain value is its own field 0.

    Raises:
        JobExecutionError: a plain value has no such field.
    """
    if isinstance(position, str):
        return value[position] if isinstance(value, (Row, dict)) else getattr(value, position)
    if isinstance(value, (tuple, list, Row, dict)):
        return value[position]
    if is_dataclass(value):
        return getattr(value, _name_at(value, position))
    if position != 0:
        raise JobExecutionError(
            f"{value!r} has no fields, so there is no field {position}; the whole value is field 0"
        )
    return value


def _name_at(value: Any, position: int) -> str:
    return fields(value)[position].name


def with_field(value: Any, position: Position, new: Any) -> Any:
    """A copy of a record with one field replaced."""
    if isinstance(value, Row):
        return _row_with(value, position, new)
    if isinstance(value, dict):
        return {**value, position: new}
    if is_dataclass(value) and not isinstance(value, type):
        name = position if isinstance(position, str) else _name_at(value, position)
        return replace(value, **{name: new})
    if isinstance(value, tuple):
        return _tuple_with(value, position, new)
    if isinstance(value, list):
        assert isinstance(position, int)
        return _list_with(value, position, new)
    return new


def _row_with(row: Row, position: Position, new: Any) -> Row:
    names = getattr(row, "_fields", None)
    index = list(names).index(position) if isinstance(position, str) and names else position
    values = list(row)
    values[int(index)] = new
    copy = Row(*values)
    if names:
        copy.set_field_names(list(names))
    copy.set_row_kind(row.get_row_kind())
    return copy


def _tuple_with(value: tuple[Any, ...], position: Position, new: Any) -> tuple[Any, ...]:
    if isinstance(position, str):
        return value._replace(**{position: new})  # type: ignore[attr-defined, no-any-return]
    values = _list_with(value, position, new)
    return type(value)._make(values) if hasattr(value, "_make") else tuple(values)


def _list_with(values: Iterable[Any], position: int, new: Any) -> list[Any]:
    copy = list(values)
    copy[position] = new
    return copy


@dataclass(frozen=True)
class TupleProjection:
    """Projection of records to tuples of some fields."""

    positions: tuple[Position, ...]

    def __call__(self, value: Any) -> tuple[Any, ...]:
        return tuple(field_of(value, position) for position in self.positions)


@dataclass(frozen=True)
class Sum:
    """Sums the values of one field."""

    mergeable: ClassVar[bool] = True

    position: Position

    def __call__(self, first: Any, second: Any) -> Any:
        position = self.position
        total = field_of(first, position) + field_of(second, position)
        return with_field(first, position, total)


@dataclass(frozen=True)
class Extreme:
    """Keeps the smallest (or greatest) value of one field."""

    mergeable: ClassVar[bool] = True

    position: Position
    greatest: bool

    def __call__(self, first: Any, second: Any) -> Any:
        new, old = field_of(second, self.position), field_of(first, self.position)
        better = new > old if self.greatest else new < old
        return with_field(first, self.position, new) if better else first


@dataclass(frozen=True)
class ExtremeBy:
    """Keeps the record with the smallest (or greatest) value of one field."""

    mergeable: ClassVar[bool] = True

    position: Position
    greatest: bool

    def __call__(self, first: Any, second: Any) -> Any:
        new, old = field_of(second, self.position), field_of(first, self.position)
        return second if (new > old if self.greatest else new < old) else first
