"""Random operations on tables of every kind, applied to plain dicts as well."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from millrace.state.table_kinds import (
    FLAT,
    LIST,
    MAP,
    PANE_ELEMENTS,
    PANES,
    TTL_FLAT,
    TTL_LIST,
    TTL_MAP,
)

__all__ = ["KINDS", "Content", "TableProgram"]

KINDS = (FLAT, LIST, MAP, TTL_FLAT, TTL_LIST, TTL_MAP, PANES, PANE_ELEMENTS)
"""Kinds of tables that hold keyed state."""

Content = dict[Any, Any]
Step = Callable[[Any, Content], None]

_KEYS: tuple[Any, ...] = ("a", "b", 1, -7, b"x", ("t", 1), 2.5, "ä" * 40, 1 << 70)
_VALUES: tuple[Any, ...] = (0, 1, "x", None, 2.5, (1, "y"), [1, 2], {"k": [3]}, {4}, ([5], 6))


class TableProgram:
    """Applies random operations to a table and to its model, as operators would."""

    def __init__(self, chance: random.Random) -> None:
        self._random = chance

    def step(self, table: Any, model: Content) -> None:
        """Apply one operation to a table and to its model."""
        steps = self._nested if hasattr(table, "drop") else self._flat
        if hasattr(table, "append"):
            steps = self._listed
        self._random.choice(steps())(table, model)

    def _key(self) -> Any:
        return self._random.choice(_KEYS)

    def _value(self) -> Any:
        return copy.deepcopy(self._random.choice(_VALUES))

    # -- one value per key -------------------------------------------------------------

    def _flat(self) -> list[Step]:
        return [self._put, self._put, self._remove, self._change, self._read, self._prefetch]

    def _put(self, table: Any, model: Content) -> None:
        key, value = self._key(), self._value()
        table.put(key, copy.deepcopy(value))
        model[key] = value

    def _remove(self, table: Any, model: Content) -> None:
        key = self._key()
        table.remove(key)
        model.pop(key, None)

    def _change(self, table: Any, model: Content) -> None:
        """Change a mutable value in place, as its reader may do."""
        key = self._key()
        for value in (table.get(key), model.get(key)):
            _spoil(value)

    def _read(self, table: Any, model: Content) -> None:
        key = self._key()
        assert table.get(key) == model.get(key)
        assert (key in table.data) == (key in model)

    def _prefetch(self, table: Any, model: Content) -> None:
        table.prefetch([self._key(), self._key()])

    # -- lists -------------------------------------------------------------------------

    def _listed(self) -> list[Step]:
        return [
            self._append,
            self._append,
            self._put_list,
            self._remove,
            self._read,
            self._prefetch,
        ]

    def _append(self, table: Any, model: Content) -> None:
        key, value = self._key(), self._value()
        table.append(key, copy.deepcopy(value))
        model.setdefault(key, []).append(value)

    def _put_list(self, table: Any, model: Content) -> None:
        key, values = self._key(), [self._value() for _ in range(self._random.randint(1, 3))]
        table.put(key, copy.deepcopy(values))
        model[key] = values

    # -- a dict per outer key ----------------------------------------------------------

    def _nested(self) -> list[Step]:
        return [
            self._put_inner, self._put_inner, self._put_inner, self._batch,
            self._remove_inner, self._drop, self._look, self._prefetch, self._prefetch_inner,
        ]  # fmt: skip

    def _inner(self) -> Any:
        """Inner key; in tables of timers it is (key, namespace)."""
        return self._key(), self._random.choice((None, "ns"))

    def _place(self, table: Any) -> tuple[Any, Any]:
        return self._random.choice(_KEYS[:4]), self._inner()

    def _put_inner(self, table: Any, model: Content) -> None:
        outer, inner = self._place(table)
        value = self._value()
        table.put(outer, inner, copy.deepcopy(value))
        model.setdefault(outer, {})[inner] = value

    def _batch(self, table: Any, model: Content) -> None:
        """Write many entries in one call; the last write of an entry counts."""
        outer, _ = self._place(table)
        inners = [self._inner() for _ in range(self._random.randint(1, 4))]
        values = [self._value() for _ in inners]
        places = [outer] * len(inners)
        table.upsert_many((places, inners, values), _replaced, copy.deepcopy, _always)
        for inner, value in zip(inners, values, strict=True):
            model.setdefault(outer, {})[inner] = value

    def _remove_inner(self, table: Any, model: Content) -> None:
        outer, inner = self._place(table)
        table.remove(outer, inner)
        model.get(outer, {}).pop(inner, None)
        if not model.get(outer, True):
            del model[outer]

    def _drop(self, table: Any, model: Content) -> None:
        outer, _ = self._place(table)
        dropped = table.drop(outer)
        assert dict(dropped.items()) == model.pop(outer, {})
        for value in dropped.values():
            _spoil(value)

    def _look(self, table: Any, model: Content) -> None:
        outer, inner = self._place(table)
        entries = table.data.get(outer) or {}
        expected = model.get(outer, {})
        assert (inner in entries) == (inner in expected)
        assert entries.get(inner) == expected.get(inner)

    def _prefetch_inner(self, table: Any, model: Content) -> None:
        table.prefetch_inner(self._place(table)[0], [self._inner(), self._inner()])


def _spoil(value: Any) -> None:
    if isinstance(value, list):
        value.append(9)
    elif isinstance(value, dict):
        value["k"].append(9)
    elif isinstance(value, set):
        value.add(9)
    elif isinstance(value, tuple) and value and isinstance(value[0], list):
        value[0].append(9)


def _replaced(value: Any, _: Any) -> Any:
    return copy.deepcopy(value)


def _always(_: Any) -> bool:
    return True
