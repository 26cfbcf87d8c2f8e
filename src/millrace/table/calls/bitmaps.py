"""Bitmaps: sets of INT."""

from __future__ import annotations

from typing import Any, Self

from millrace.table.calls.call_builder import CallBuilder

__all__ = ["BitmapFunctions"]


class BitmapFunctions(CallBuilder):
    """Functions and aggregates of bitmaps."""

    __slots__ = ()

    def bitmap_build(self) -> Self:
        """A bitmap with the numbers in an array."""
        return self._call("BITMAP_BUILD")

    def bitmap_from_bytes(self) -> Self:
        """The bitmap that bytes in the portable Roaring format hold."""
        return self._call("BITMAP_FROM_BYTES")

    def bitmap_to_bytes(self) -> Self:
        """The bitmap in the portable Roaring format."""
        return self._call("BITMAP_TO_BYTES")

    def bitmap_to_array(self) -> Self:
        """The numbers of the bitmap as an array, with negative numbers after all others."""
        return self._call("BITMAP_TO_ARRAY")

    def bitmap_to_string(self) -> Self:
        """The numbers of the bitmap as text, such as ``{1,2,3}``."""
        return self._call("BITMAP_TO_STRING")

    def bitmap_cardinality(self) -> Self:
        """Number of values in the bitmap."""
        return self._call("BITMAP_CARDINALITY")

    def bitmap_and(self, bitmap: Any) -> Self:
        """Intersection of two bitmaps."""
        return self._call("BITMAP_AND", bitmap)

    def bitmap_or(self, bitmap: Any) -> Self:
        """Union of two bitmaps."""
        return self._call("BITMAP_OR", bitmap)

    def bitmap_xor(self, bitmap: Any) -> Self:
        """Values in exactly one of two bitmaps."""
        return self._call("BITMAP_XOR", bitmap)

    def bitmap_andnot(self, bitmap: Any) -> Self:
        """Values of this bitmap that are not in the other."""
        return self._call("BITMAP_ANDNOT", bitmap)

    def bitmap_build_agg(self) -> Self:
        """A bitmap of the values of a group."""
        return self._call("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Self:
        """Number of distinct values in a group."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_and_agg(self) -> Self:
        """Intersection of all bitmaps of a group."""
        return self._call("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Self:
        """Number of values in the intersection of a group's bitmaps."""
        return self._call("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_or_agg(self) -> Self:
        """Union of all bitmaps of a group."""
        return self._call("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Self:
        """Number of values in the union of a group's bitmaps."""
        return self._call("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_xor_agg(self) -> Self:
        """Bitmap of the values that are in an odd number of a group's bitmaps."""
        return self._call("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Self:
        """Number of the values that are in an odd number of a group's bitmaps."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG")
