"""Bitmaps: sets of INT, as values of the type BITMAP hold them.

A value is bytes in the portable format of the Roaring libraries, run-length encoded where that is
shorter, so equal sets are equal bytes. Negative numbers count as unsigned ones of 32 bits and so
come behind all others. The library is pyroaring (``pip install 'millrace[bitmaps]'``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.common.installation import missing_package

if TYPE_CHECKING:
    from pyroaring import BitMap

__all__ = ["bitmap_class", "read_bitmap", "written_bitmap"]


def bitmap_class() -> type[BitMap]:
    """The class of bitmaps.

    Raises:
        ModuleNotFoundError: the library is missing; the text says how to get it.
    """
    try:
        from pyroaring import BitMap
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            missing_package("bitmaps need", "pyroaring", "bitmaps"), name="pyroaring"
        ) from None
    return BitMap


def read_bitmap(raw: Any) -> BitMap:
    """The bitmap that bytes hold.

    Raises:
        ValueError: the bytes hold no bitmap.

    Example:
        >>> read_bitmap(written_bitmap(bitmap_class()([3, 1])))
        BitMap([1, 3])
    """
    if isinstance(raw, bitmap_class()):
        return raw
    try:
        return bitmap_class().deserialize(bytes(raw))
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"not a bitmap in the portable Roaring format: {error}") from None


def written_bitmap(bitmap: BitMap) -> bytes:
    """The serialized bytes of a bitmap; the bitmap itself is run-length encoded first."""
    bitmap.run_optimize()
    return bytes(bitmap.serialize())
