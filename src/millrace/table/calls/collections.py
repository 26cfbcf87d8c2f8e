"""Arrays, maps and rows."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from millrace.table.calls.call_builder import CallBuilder, node_of

__all__ = ["CollectionFunctions", "Flattened"]


class Flattened(exp.Expression, exp.Condition):
    """``col("r").flatten``: a column per field of a row."""

    arg_types = {"this": True}  # noqa: RUF012  # as sqlglot declares it


class CollectionFunctions(CallBuilder):
    """Functions of arrays, maps and rows."""

    __slots__ = ()

    def at(self, index: Any) -> Self:
        """The element of an array at a position from 1, or of a map by its key."""
        return self._made(exp.Bracket(this=self.node, expressions=[node_of(index)]))

    @property
    def flatten(self) -> Self:
        """A column per field of a row, in `Table.select`; other values stay as they are."""
        return self._made(Flattened(this=self.node))

    @property
    def cardinality(self) -> Self:
        """The number of elements."""
        return self._call("CARDINALITY")

    @property
    def element(self) -> Self:
        """The only element; NULL of none."""
        return self._call("ELEMENT")

    def array_append(self, addition: Any) -> Self:
        """With an element behind the others."""
        return self._call("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Self:
        """Whether an element is there."""
        return self._call("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Self:
        """Without elements that were there before."""
        return self._call("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Self:
        """Where an element is first, from 1; 0: nowhere."""
        return self._call("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Self:
        """With an element before the others."""
        return self._call("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Self:
        """Without the elements that equal one."""
        return self._call("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Self:
        """From the last element to the first."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Self:
        """From one position to another, both from 1 and included."""
        return self._call_with("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Self:
        """Sorted, from the least element if not told otherwise."""
        return self._call_with("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Self:
        """The distinct elements of both."""
        return self._call("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Self:
        """The elements of all."""
        return self._call("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Self:
        """The greatest element."""
        return self._call("ARRAY_MAX")

    def array_min(self) -> Self:
        """The least element."""
        return self._call("ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Self:
        """Texts, joined by another one."""
        return self._call_with("ARRAY_JOIN", delimiter, null_replacement)

    def array_except(self, array: Any) -> Self:
        """The elements that another array lacks."""
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Self:
        """The elements that another array has, too."""
        return self._call("ARRAY_INTERSECT", array)

    @property
    def map_keys(self) -> Self:
        """The keys, in no order."""
        return self._call("MAP_KEYS")

    @property
    def map_values(self) -> Self:
        """The values, in no order."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Self:
        """Rows of key and value, in no order."""
        return self._call("MAP_ENTRIES")

    def map_union(self, *maps: Any) -> Self:
        """The entries of all; a later one wins."""
        return self._call("MAP_UNION", *maps)

    # -- structured objects ------------------------------------------------------------

    def object_update(self, *kv: Any) -> Self:
        """The object with other values of some fields, each given by name and value."""
        return self._call("OBJECT_UPDATE", *kv)
