"""The merging windows of one key: which there are, and where their contents are kept.

The contents of a window stay where they were first put (its state window), however often the window
is merged into a bigger one. Semantics: Flink, class ``MergingWindowSet``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.window import MergingWindowAssigner
from millrace.runtime.window_logic import namespace_of, window_of
from millrace.state.nested_table import NestedTable

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""(resulting window, merged windows, its state window, their state windows)."""


class _Groups(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(to_be_merged)))


class MergingWindows:
    """A view of the table (key, window) -> state window."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], table: NestedTable) -> None:
        self._assigner = assigner
        self._table = table

    def state_window(self, key: Any, window: Any) -> Any:
        """Where the contents of a window are, or None if there is no such window."""
        found = self._table.data.get(key, {}).get(namespace_of(window))
        return None if found is None else window_of(found)

    def retire(self, key: Any, window: Any) -> None:
        """Forget a window."""
        self._table.remove(key, namespace_of(window))

    def add(self, key: Any, window: Any, on_merge: OnMerge) -> Any:
        """Add a window; returns it, or the bigger one that it has become part of."""
        there = self._table.data.get(key)
        if there is None:
            self._put(key, window, window)
            return window
        if namespace_of(window) in there:
            return window
        groups = _Groups()
        self._assigner.merge_windows([*map(window_of, there), window], groups)
        result = window
        absorbed = False
        for merged_window, members in groups.found:
            old = [member for member in members if member != window]
            if len(old) < len(members):
                absorbed, result = bool(old), merged_window
            self._merge(key, merged_window, old, on_merge)
        if not absorbed:
            self._put(key, result, result)
        return result

    def _merge(self, key: Any, result: Any, old: list[Any], on_merge: OnMerge) -> None:
        """Windows ``old`` become ``result``; the first one's state window serves it from now on."""
        states = [self.state_window(key, window) for window in old]
        if not states or old == [result]:
            return
        for window in old:
            self.retire(key, window)
        self._put(key, result, states[0])
        on_merge(result, [w for w in old if w != result], states[0], states[1:])

    def _put(self, key: Any, window: Any, state_window: Any) -> None:
        self._table.put(key, namespace_of(window), namespace_of(state_window))
