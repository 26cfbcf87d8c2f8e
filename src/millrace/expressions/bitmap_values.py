"""Values of the type BITMAP in expressions: reading, writing and printing, with errors for the
user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.common.types.bitmaps import read_bitmap, written_bitmap
from millrace.expressions.evaluation_error import EvaluationError

if TYPE_CHECKING:
    from pyroaring import BitMap

__all__ = ["bitmap_of", "bitmap_text", "canonical_bitmap"]

_LONGEST_TEXT = 0x80000
"""Characters after which Java's library ends the text of a bitmap with ``...``."""
_SHOWN = 20


def bitmap_of(raw: bytes) -> BitMap:
    """The bitmap stored in bytes.

    Raises:
        EvaluationError: they hold none.
    """
    try:
        return read_bitmap(raw)
    except ValueError as error:
        more = "..." if len(raw) > _SHOWN else ""
        raise EvaluationError(
            f"Failed to deserialize bitmap from bytes: X'{raw[:_SHOWN].hex()}'{more} is {error}"
        ) from None


def canonical_bitmap(raw: bytes) -> bytes:
    """Canonical bytes of a bitmap: equal bitmaps have equal bytes.

    Raises:
        EvaluationError: the bytes hold no bitmap.
    """
    return written_bitmap(bitmap_of(raw))


def bitmap_text(raw: bytes) -> str:
    """Text of a bitmap's numbers, unsigned, as Java's library prints them.

    Raises:
        EvaluationError: the bytes hold no bitmap.
    """
    parts: list[str] = []
    size = 1
    for number in bitmap_of(raw):
        if size + bool(parts) > _LONGEST_TEXT:
            parts.append("...")
            break
        parts.append(str(number))
        size += len(parts[-1]) + (len(parts) > 1)
    return "{" + ",".join(parts) + "}"
