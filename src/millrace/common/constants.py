"""Constants that PyFlink programs import from this path."""

from __future__ import annotations

__all__ = ["DEFAULT_OUTPUT_TAG", "MAX_LONG_VALUE", "MIN_LONG_VALUE"]

MAX_LONG_VALUE = 2**63 - 1
"""The greatest number of a BIGINT; as a time, the end of all windows."""

MIN_LONG_VALUE = -(2**63)
"""The least number of a BIGINT; as a time, before all records."""

DEFAULT_OUTPUT_TAG = ""
"""The name of the main output among side outputs."""
