"""Names of the table functions that are part of the language or of its translation."""

from __future__ import annotations

__all__ = ["REPLICATE_ROWS", "UNNEST"]

UNNEST = "UNNEST"
"""A row per element of its arguments; the payload says whether with the element's number."""
REPLICATE_ROWS = "$REPLICATE_ROWS$"
"""As many rows without columns as its argument says."""
