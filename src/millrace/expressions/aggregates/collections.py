"""Accumulators of ARRAY_AGG, COLLECT, LISTAGG, JSON_ARRAYAGG and JSON_OBJECTAGG."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import Columns, Signs, Slots
from millrace.expressions.aggregates.collecting import CollectingAccumulator, ElementCodec
from millrace.expressions.call_options import JsonChoice, JsonClauses, JsonEvent
from millrace.expressions.functions.json_writing import Raw, json_text, jsonable

__all__ = [
    "ArrayAggAccumulator",
    "CollectAccumulator",
    "JsonAggAccumulator",
    "ListAggAccumulator",
]


class _Elements(CollectingAccumulator):
    """Base of accumulators whose items are the values themselves."""

    def __init__(self, argument_types: tuple[LogicalType, ...], result_type: LogicalType) -> None:
        super().__init__(argument_types, result_type)
        self._codec = ElementCodec(argument_types[0])

    def _items(self, arguments: list[pa.Array]) -> list[Any]:
        return self._codec.objects(arguments[0])


class ArrayAggAccumulator(_Elements):
    """ARRAY_AGG: NULL if there are no rows. Flink: ``ArrayAggFunction``.

    Args:
        argument_types: type of the values.
        result_type: array type of the values.
        ignore_nulls: whether NULLs are left out (IGNORE NULLS).
    """

    takes_nulls = True

    def __init__(
        self,
        argument_types: tuple[LogicalType, ...],
        result_type: LogicalType,
        ignore_nulls: bool,
    ) -> None:
        super().__init__(argument_types, result_type)
        self._ignore_nulls = ignore_nulls

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        held = columns[0][slots].tolist()
        if self._ignore_nulls:
            held = [items and [item for item in items if item is not None] for items in held]
        none = np.array([not items for items in held], np.bool_)
        ends = np.cumsum([0, *(len(items or ()) for items in held)])
        offsets = pa.array(ends, pa.int32(), mask=np.append(none, False))
        flat = self._codec.array(list(chain.from_iterable(items or () for items in held)))
        return pa.ListArray.from_arrays(offsets, flat).cast(self.arrow)


class CollectAccumulator(_Elements):
    """COLLECT: a multiset, empty if there are no values; NULLs are skipped."""

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        counted = [self._counted(held or ()) for held in columns[0][slots].tolist()]
        offsets = pa.array(np.cumsum([0, *map(len, counted)]), pa.int32())
        pairs = list(chain.from_iterable(counted))
        keys = self._codec.array([item for item, _ in pairs])
        counts = pa.array([count for _, count in pairs], pa.int32())
        return pa.MapArray.from_arrays(offsets, keys, counts).cast(self.arrow)

    def _counted(self, items: tuple[Any, ...]) -> list[tuple[Any, int]]:
        if not self._by_text:
            return list(Counter(items).items())
        first = {repr(item): item for item in items}
        return [(first[text], count) for text, count in Counter(map(repr, items)).items()]


class ListAggAccumulator(_Elements):
    """LISTAGG: texts joined by a separator, by default a comma; NULLs are skipped. Flink:
    ``ListAggWithRetractAggFunction``."""

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return (*super().columns(), np.dtype(object))

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        super().accumulate(slots, columns, arguments, signs)
        if len(arguments) > 1:
            columns[1][slots] = np.array(arguments[1].to_pylist(), object)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        super().merge(slots, columns, other_slots, others)
        columns[1][slots] = others[1][other_slots]

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        by_default = "," if len(self.argument_types) == 1 else ""
        pairs = zip(columns[0][slots].tolist(), columns[1][slots].tolist(), strict=True)
        texts = [
            (by_default if separator is None else separator).join(items) if items else None
            for items, separator in pairs
        ]
        return pa.array(texts, self.arrow)


class JsonAggAccumulator(CollectingAccumulator):
    """JSON_OBJECTAGG and JSON_ARRAYAGG. Flink: ``JsonObjectAggFunction``, ``JsonArrayAggFunction``.

    Args:
        argument_types: types of the arguments: for an object the key and the value, for an array
            the value.
        result_type: a text.
        clauses: clauses of the call: NULL with NULL or ABSENT, NESTED with the arguments that are
            JSON.
    """

    takes_nulls = True

    def __init__(
        self,
        argument_types: tuple[LogicalType, ...],
        result_type: LogicalType,
        clauses: JsonClauses,
    ) -> None:
        super().__init__(argument_types, result_type)
        self._by_text = False
        self._object = len(argument_types) == 2
        default = JsonChoice.NULL if self._object else JsonChoice.ABSENT
        self._absent = clauses.choice(JsonEvent.NULL, default) is JsonChoice.ABSENT
        self._nested = bool(clauses.nested)
        self._make = jsonable(argument_types[-1])

    def _items(self, arguments: list[pa.Array]) -> list[Any]:
        texts = [self._text(value) for value in arguments[-1].to_pylist()]
        return list(zip(arguments[0].to_pylist(), texts, strict=True)) if self._object else texts

    def _text(self, value: Any) -> str | None:
        return (
            None if value is None else json_text(Raw(value) if self._nested else self._make(value))
        )

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        made = self._of_pairs if self._object else self._of_values
        return pa.array([made(items or ()) for items in columns[0][slots].tolist()], self.arrow)

    def _of_values(self, texts: tuple[Any, ...]) -> str:
        shown = (text or "null" for text in texts if text is not None or not self._absent)
        return "[" + ",".join(shown) + "]"

    def _of_pairs(self, pairs: tuple[Any, ...]) -> str:
        keys = Counter(key for key, _ in pairs)
        if None in keys:
            raise JobExecutionError(
                "JSON_OBJECTAGG got a key that is NULL: leave such rows out with "
                "FILTER (WHERE ... IS NOT NULL)"
            )
        if len(keys) < len(pairs):
            twice = keys.most_common(1)[0][0]
            raise JobExecutionError(
                f"JSON_OBJECTAGG got the key {twice!r} more than once in a group; keys are unique "
                "in an object: group by the key, too, or aggregate its values first"
            )
        shown = {
            str(key): Raw("null" if text is None else text)
            for key, text in pairs
            if text is not None or not self._absent
        }
        return json_text(shown)  # which sorts the keys
