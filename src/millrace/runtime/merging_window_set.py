"""`MergingWindowSet`: the session windows of each key, and the state window of each session window.

The state window is the namespace that holds a window's contents. It stays the same however often
the window is merged into a bigger one, so that merging moves as little state as possible.
Semantics: Flink, class ``MergingWindowSet``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.window import MergingWindowAssigner
from millrace.runtime.window_logic import namespace_of, window_of
from millrace.state.nested_table import NestedTable

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""Called with: the resulting window, the windows merged into it, the state window of the result,
and the other state windows, whose contents must be merged into that one."""


class _MergeGroups(MergingWindowAssigner.MergeCallback[Any]):
    """Collects the groups of windows that an assigner merges."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(to_be_merged)))


class MergingWindowSet:
    """Windows of all keys: a view of the table (key, window) -> state window."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], table: NestedTable) -> None:
        self._assigner = assigner
        self._table = table

    def state_window(self, key: Any, window: Any) -> Any:
        """State window of a window: the namespace under which the window's contents are stored.
        None if the set does not contain the window.
        """
        namespace = self._table.data.get(key, {}).get(namespace_of(window))
        return None if namespace is None else window_of(namespace)

    def retire(self, key: Any, window: Any) -> None:
        """Remove a window."""
        self._table.remove(key, namespace_of(window))

    def add(self, key: Any, window: Any, on_merge: OnMerge) -> Any:
        """Add a window, and merge it with other windows if the assigner says so.

        Returns the window that the new one is part of afterwards: itself or a bigger one.
        """
        existing = self._table.data.get(key)
        if existing is None:
            self._put(key, window, window)
            return window
        if namespace_of(window) in existing:
            return window
        groups = _MergeGroups()
        self._assigner.merge_windows([*map(window_of, existing), window], groups)
        result = window
        joined_existing = False  # then its contents have a state window already
        for merged_window, members in groups.found:
            old = [member for member in members if member != window]
            if len(old) < len(members):
                joined_existing, result = bool(old), merged_window
            self._merge(key, merged_window, old, on_merge)
        if not joined_existing:
            self._put(key, result, result)
        return result

    def _merge(self, key: Any, result: Any, old: list[Any], on_merge: OnMerge) -> None:
        """Replace the windows ``old`` with ``result``, which gets the state window of the first
        one."""
        states = [self.state_window(key, window) for window in old]
        if not states or old == [result]:
            return
        for window in old:
            self.retire(key, window)
        self._put(key, result, states[0])
        on_merge(result, [w for w in old if w != result], states[0], states[1:])

    def _put(self, key: Any, window: Any, state_window: Any) -> None:
        self._table.put(key, namespace_of(window), namespace_of(state_window))
