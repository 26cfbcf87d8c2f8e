"""A source of a sequence of numbers."""

from __future__ import annotations

from millrace.common.source.source import Source
from millrace.connectors.number_sequence import NumberSequenceSource

__all__ = [
    "NumberSequenceSource",
    "Source",
]
