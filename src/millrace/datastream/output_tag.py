"""Tags of side outputs."""

from __future__ import annotations

from millrace.common.functions.output_tag import (
    OutputTag,
)

__all__ = [
    "OutputTag",
]
