"""Sources and sinks at the paths that PyFlink programs import them from."""

from __future__ import annotations

from millrace.common.sink.sink import Sink
from millrace.common.source import Source

__all__ = [
    "Sink",
    "Source",
]
