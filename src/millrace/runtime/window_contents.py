"""Contents of windows per key: accumulators, elements, or elements with event times.

Entries are kept under (namespace of the window, key).
"""

from __future__ import annotations

from typing import Any

from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.common.window.evictor import TimestampedValue
from millrace.runtime.detached import detached
from millrace.runtime.window_logic import WindowLogic, namespace_of
from millrace.state.flat_table import FlatTable
from millrace.state.internal_tables import ACCUMULATORS, ELEMENTS, TIMED_ELEMENTS
from millrace.state.list_table import ListTable
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import WINDOW_ACCUMULATORS, WINDOW_ELEMENTS


class AccumulatorContents:
    """One accumulator per key and window."""

    name = ACCUMULATORS

    def __init__(self, state: SubtaskState, uid: str, logic: WindowLogic) -> None:
        record = state.record_type(uid) if logic.aggregate is None else None
        self._table: FlatTable = state.table(TableId(uid, self.name), WINDOW_ACCUMULATORS, record)
        self._add, self._create = logic.accumulate_functions()
        self._merge = logic.merge_function()
        self._result = logic.result_function()

    def add(self, key: Any, window: Any, value: Any, timestamp: int | None) -> None:
        """Add a record to a window."""
        place = (namespace_of(window), key)
        self._table.touch(place)
        data = self._table.data
        data[place] = self._add(value, data[place]) if place in data else self._create(value)

    def get(self, key: Any, window: Any) -> list[Any] | None:
        """Input of the window function. None if the window is empty."""
        place = (namespace_of(window), key)
        if place not in self._table.data:
            return None
        return [detached(self._result(self._table.get(place)))]

    def clear(self, key: Any, window: Any) -> None:
        """Delete the contents of the window."""
        self._table.remove((namespace_of(window), key))

    def merge(self, key: Any, into: Any, others: list[Any]) -> None:
        """Move the contents of the windows ``others`` to ``into``."""
        target = (namespace_of(into), key)
        for other in others:
            place = (namespace_of(other), key)
            if place not in self._table.data:
                continue
            accumulator = self._table.get(place)
            self._table.remove(place)
            if target in self._table.data:
                accumulator = self._merge(self._table.get(target), accumulator)
            self._table.put(target, accumulator)


class ElementContents:
    """Elements of each key and window, in the order of arrival."""

    name = ELEMENTS

    def _element_type(self, record: TypeInformation[Any]) -> TypeInformation[Any]:
        return record

    def __init__(self, state: SubtaskState, uid: str) -> None:
        record = state.record_type(uid)
        element = None if record is None else Types.LIST(self._element_type(record))
        self._table: ListTable = state.table(TableId(uid, self.name), WINDOW_ELEMENTS, element)

    def add(self, key: Any, window: Any, value: Any, timestamp: int | None) -> None:
        """Add a record to a window."""
        self._table.append((namespace_of(window), key), value)

    def get(self, key: Any, window: Any) -> list[Any] | None:
        """Input of the window function. None if the window is empty."""
        values = self._table.data.get((namespace_of(window), key))
        return None if values is None else [detached(value) for value in values]

    def clear(self, key: Any, window: Any) -> None:
        """Delete the contents of the window."""
        self._table.remove((namespace_of(window), key))

    def merge(self, key: Any, into: Any, others: list[Any]) -> None:
        """Move the contents of the windows ``others`` to ``into``."""
        target = (namespace_of(into), key)
        for other in others:
            place = (namespace_of(other), key)
            for value in self._table.data.get(place, ()):
                self._table.append(target, value)
            self._table.remove(place)


class EvictableContents(ElementContents):
    """Elements with their event times, so that an evictor can choose among them."""

    name = TIMED_ELEMENTS

    def _element_type(self, record: TypeInformation[Any]) -> TypeInformation[Any]:
        return Types.TUPLE([record, Types.LONG()])

    def add(self, key: Any, window: Any, value: Any, timestamp: int | None) -> None:
        self._table.append((namespace_of(window), key), (value, timestamp))

    def elements(self, key: Any, window: Any) -> list[TimestampedValue] | None:
        """Elements of the window. None if the window is empty."""
        pairs = self.get(key, window)
        return None if pairs is None else [TimestampedValue(*pair) for pair in pairs]

    def replace(self, key: Any, window: Any, elements: list[TimestampedValue]) -> None:
        """Replace the elements of the window."""
        place = (namespace_of(window), key)
        if elements:
            self._table.put(place, [tuple(element) for element in elements])
        else:
            self._table.remove(place)


Contents = AccumulatorContents | ElementContents
