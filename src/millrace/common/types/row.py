"""Rows: records with positions, optional field names and a kind of change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from typing import Any

__all__ = ["ALL_ROW_KINDS", "INSERT_ONLY", "Row", "RowKind", "UPSERTS"]


class RowKind(Enum):
    """Kind of a change in a changelog (Flink docs, "Dynamic Tables")."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SHORT[self.value]


INSERT = RowKind.INSERT
_SHORT = ("+I", "-U", "+U", "-D")
_KINDS = tuple(RowKind)
"""Kinds of rows by their numbers."""

INSERT_ONLY = frozenset({RowKind.INSERT})
"""The kinds of rows of a table to which rows are only added."""
UPSERTS = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE})
"""The kinds of rows of a changelog by a key: no row before an update."""
ALL_ROW_KINDS = frozenset(RowKind)
"""The kinds of rows of a changelog in which an update is a row before and a row after."""


class Row:
    """A record of values, accessed by position and, if it has field names, by name.

    Example:
        >>> alice = Row(name="Alice", age=11)
        >>> alice.name, alice["age"], alice[1], "age" in alice
        ('Alice', 11, 11, True)
        >>> Person = Row("name", "age")
        >>> Person("Alice", 11) == alice
        True

    Two rows are equal if names, values and kind are. A row hashes by its values: do not change
    one that is in a set or a key.

    Raises:
        ValueError: values were given both with and without names.
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: tuple[str, ...] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            if args:
                raise ValueError("a Row takes either all its values with names or all without")
            self._fields = shared_names(tuple(kwargs))
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row with a kind of change."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def get_row_kind(self) -> RowKind:
        """Kind of change; `RowKind.INSERT` by default."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the kind of change."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: Iterable[str]) -> None:
        """Set names for the values.

        Raises:
            ValueError: there are more or fewer names than values.
        """
        names = tuple(field_names)
        if len(names) != len(self._values):
            raise ValueError(f"{len(names)} names for {len(self._values)} values of {self!r}")
        self._fields = shared_names(names)

    def get_fields_by_names(self, names: Iterable[str]) -> list[Any]:
        """The values of the given fields; all values of a row without names.

        Raises:
            KeyError: there is no such field.
        """
        if self._fields is None:
            return self._values
        return [self._values[self._index(name)] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Values by name; with ``recursive`` also for the rows inside.

        Raises:
            TypeError: the row has no field names.
        """
        if self._fields is None:
            raise TypeError(f"{self!r} has no field names, so it cannot become a dict")
        values = [plain(value) for value in self._values] if recursive else self._values
        return dict(zip(self._fields, values, strict=True))

    def _index(self, name: Any) -> int:
        try:
            return self._fields.index(name)  # type: ignore[union-attr]
        except (AttributeError, ValueError):
            raise KeyError(missing(name, self._fields)) from None

    def __call__(self, *args: Any) -> Row:
        if len(args) != len(self._values):
            raise ValueError(f"{self!r} takes {len(self._values)} values, got {len(args)}")
        return named_row(tuple(self._values), args, self._row_kind.value)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, str):
            return self._values[self._index(item)]
        return self._values[item]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[self._index(key) if isinstance(key, str) else key] = value

    def __getattr__(self, item: str) -> Any:
        # Names with an underscore are never fields: copy and pickle probe for such methods before
        # the slots are filled.
        if item[0] == "_":
            raise AttributeError(f"'Row' object has no attribute {item!r}")
        try:
            return self._values[self._fields.index(item)]  # type: ignore[union-attr]
        except (AttributeError, ValueError):
            raise AttributeError(missing(item, self._fields)) from None

    def __contains__(self, item: Any) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return (
            self._values == other._values
            and self._fields == other._fields
            and self._row_kind is other._row_kind
        )

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._fields is None and self._row_kind is INSERT:
            return Row, tuple(self._values)
        return named_row, (self._fields, tuple(self._values), self._row_kind.value)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._fields, self._values, strict=True)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"


@lru_cache(maxsize=4096)
def shared_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same object for equal names, so that pickle writes the names once per batch and not once
    per row.
    """
    return names


def named_row(names: tuple[str, ...] | None, values: Iterable[Any], kind: int = 0) -> Row:
    """A row from names and values: the fast way to make many rows with the same names."""
    row = Row.__new__(Row)
    row._fields = names if names is None else shared_names(names)
    row._values = list(values)
    row._row_kind = _KINDS[kind]
    return row


def plain(value: Any) -> Any:
    """The value with each row in it replaced by a dict."""
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def missing(name: Any, fields: tuple[str, ...] | None) -> str:
    """Message for a field that does not exist."""
    has = "no field names" if fields is None else f"the fields {', '.join(map(str, fields))}"
    return f"no field {name!r}: the row has {has}"
