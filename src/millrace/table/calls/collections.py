"""Functions of arrays, maps and rows."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from millrace.table.calls.call_builder import CallBuilder, node_of

__all__ = ["CollectionFunctions", "Flattened"]


class Flattened(exp.Expression, exp.Condition):
    """``col("r").flatten``: one column per field of a row."""

    arg_types = {"this": True}  # noqa: RUF012  # as sqlglot declares it


class CollectionFunctions(CallBuilder):
    """Functions of arrays, maps and rows."""

    __slots__ = ()

    def at(self, index: Any) -> Self:
        """The element of an array at a position (from 1), or of a map with a key."""
        return self._made(exp.Bracket(this=self.node, expressions=[node_of(index)]))

    @property
    def flatten(self) -> Self:
        """One column per field of a row, in `Table.select`; other values stay unchanged."""
        return self._made(Flattened(this=self.node))

    @property
    def cardinality(self) -> Self:
        """Number of elements."""
        return self._call("CARDINALITY")

    @property
    def element(self) -> Self:
        """The only element; NULL if the array is empty."""
        return self._call("ELEMENT")

    def array_append(self, addition: Any) -> Self:
        """The array with an element added at its end."""
        return self._call("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Self:
        """Whether the array contains an element."""
        return self._call("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Self:
        """The array without duplicates."""
        return self._call("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Self:
        """Position of the first equal element, from 1; 0 if there is none."""
        return self._call("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Self:
        """The array with an element added at its start."""
        return self._call("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Self:
        """The array without the elements that equal a value."""
        return self._call("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Self:
        """The array in reverse order."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Self:
        """The elements from one position to another, both from 1 and included."""
        return self._call_with("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Self:
        """The array sorted, by default in ascending order."""
        return self._call_with("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Self:
        """The distinct elements of both arrays."""
        return self._call("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Self:
        """The elements of all arrays."""
        return self._call("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Self:
        """The greatest element."""
        return self._call("ARRAY_MAX")

    def array_min(self) -> Self:
        """The least element."""
        return self._call("ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Self:
        """The elements as one text, joined by a delimiter."""
        return self._call_with("ARRAY_JOIN", delimiter, null_replacement)

    def array_except(self, array: Any) -> Self:
        """The elements that another array does not contain."""
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Self:
        """The elements that another array also contains."""
        return self._call("ARRAY_INTERSECT", array)

    @property
    def map_keys(self) -> Self:
        """The keys of a map, in no order."""
        return self._call("MAP_KEYS")

    @property
    def map_values(self) -> Self:
        """The values of a map, in no order."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Self:
        """Rows of key and value of a map, in no order."""
        return self._call("MAP_ENTRIES")

    def map_union(self, *maps: Any) -> Self:
        """The entries of all maps; later ones replace earlier ones."""
        return self._call("MAP_UNION", *maps)

    # -- structured objects ------------------------------------------------------------

    def object_update(self, *kv: Any) -> Self:
        """The object with new values of some fields, given as names and values."""
        return self._call("OBJECT_UPDATE", *kv)
