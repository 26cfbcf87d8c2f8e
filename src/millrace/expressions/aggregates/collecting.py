"""`CollectingAccumulator`: an aggregate that keeps the values of a group in order.

A group is a tuple, replaced by a longer or shorter one when a batch has rows of it: what an aborted
epoch goes back to is then the old tuple itself. The value is as long as the group, so each change
costs that much in any case.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns, Signs, Slots
from millrace.expressions.aggregates.held_value import (
    held_as_number,
    integers_of,
    values_of_integers,
)

__all__ = ["CollectingAccumulator", "ElementCodec", "FirstLastOfAll"]

_COMPARED_BY_TEXT = (
    logical.FloatType,
    logical.DoubleType,
    logical.ArrayType,
    logical.MapType,
    logical.MultisetType,
    logical.RowType,
)
"""Values that are not their own key in a dict: NaN, and those that are not hashable."""


class ElementCodec:
    """Converts values of a type to Python objects and back; times become numbers, so that no digit
    is lost.

    Args:
        kind: type of the values.
    """

    def __init__(self, kind: LogicalType) -> None:
        self.arrow = arrow_type(kind)
        floating = isinstance(kind, (logical.FloatType, logical.DoubleType))
        self._numbers = held_as_number(kind) and not floating

    def objects(self, values: pa.Array) -> list[Any]:
        """Python objects for the values; None for NULL."""
        if not self._numbers:
            listed: list[Any] = values.to_pylist()
            return listed
        objects: list[Any] = integers_of(pc.fill_null(values, _zero(self.arrow))).tolist()
        if values.null_count:
            for index in np.flatnonzero(pc.is_null(values).to_numpy(zero_copy_only=False)):
                objects[index] = None
        return objects

    def array(self, objects: Iterable[Any]) -> pa.Array:
        """The array made from objects that `objects` returned."""
        if not self._numbers:
            return pa.array(objects, self.arrow)
        return values_of_integers(pa.array(objects, pa.int64()), self.arrow)


def _zero(kind: pa.DataType) -> pa.Scalar:
    return values_of_integers(pa.array([0]), kind)[0]


class CollectingAccumulator(ColumnAccumulator):
    """Keeps the items of each group in one column, as a tuple; None for a group without items."""

    in_order = True

    def __init__(self, argument_types: tuple[LogicalType, ...], result_type: LogicalType) -> None:
        super().__init__(argument_types, result_type)
        self._by_text = any(isinstance(kind, _COMPARED_BY_TEXT) for kind in argument_types)

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return (np.dtype(object),)

    @abstractmethod
    def _items(self, arguments: list[pa.Array]) -> list[Any]:
        """The item to keep for each row."""

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        if not self.takes_nulls and arguments[0].null_count:
            valid = pc.is_valid(arguments[0])
            mask = valid.to_numpy(zero_copy_only=False)
            slots, arguments = slots[mask], [argument.filter(valid) for argument in arguments]
            signs = None if signs is None else signs[mask]
        if not len(slots):
            return
        order = np.argsort(slots, kind="stable")
        ordered, items = slots[order], self._items(arguments)
        items = [items[index] for index in order.tolist()]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        back = None if signs is None else (signs[order] < 0)
        groups, held = ordered[starts].tolist(), columns[0]
        bounds = [*starts.tolist(), len(items)]
        for number, group in enumerate(groups):
            start, end = bounds[number], bounds[number + 1]
            kept = (*(held[group] or ()), *items[start:end])
            if back is not None and back[start:end].any():
                kept = self._without(held[group] or (), items[start:end], back[start:end])
            held[group] = kept or None

    def _without(self, held: tuple[Any, ...], items: list[Any], back: Any) -> tuple[Any, ...]:
        """The held items and the new ones, without the retracted items; of equal items the first
        ones are removed."""
        key = repr if self._by_text else _itself
        gone = Counter(key(item) for item, taken in zip(items, back, strict=True) if taken)
        kept = []
        came = (item for item, taken in zip(items, back, strict=True) if not taken)
        for item in (*held, *came):
            if gone[key(item)] > 0:
                gone[key(item)] -= 1
            else:
                kept.append(item)
        return tuple(kept)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        held = columns[0]
        for slot, other in zip(slots.tolist(), others[0][other_slots].tolist(), strict=True):
            if other:
                held[slot] = (*(held[slot] or ()), *other)


class FirstLastOfAll(CollectingAccumulator):
    """FIRST_VALUE or LAST_VALUE of rows that may be retracted: it keeps all values. Flink:
    ``FirstValueWithRetractAggFunction``.

    Args:
        argument_types: type of the values.
        result_type: the same, with null.
        last: LAST_VALUE rather than FIRST_VALUE.
    """

    def __init__(
        self, argument_types: tuple[LogicalType, ...], result_type: LogicalType, last: bool
    ) -> None:
        super().__init__(argument_types, result_type)
        self._codec, self._place = ElementCodec(argument_types[0]), -1 if last else 0

    def _items(self, arguments: list[pa.Array]) -> list[Any]:
        return self._codec.objects(arguments[0])

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        held = columns[0][slots].tolist()
        return self._codec.array([entry[self._place] if entry else None for entry in held])


def _itself(item: Any) -> Any:
    return item
