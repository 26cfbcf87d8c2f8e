"""The interfaces of sources and sinks."""

from __future__ import annotations

from millrace.common.sink.sink import Sink
from millrace.common.source import Source

__all__ = [
    "Sink",
    "Source",
]
