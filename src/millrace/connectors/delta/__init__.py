"""Delta Lake: an exactly-once sink and a source that follows changes, without a JVM."""

from __future__ import annotations

from millrace.connectors.delta.delta_sink import DeltaSink
from millrace.connectors.delta.delta_source import DeltaSource

__all__ = ["DeltaSink", "DeltaSource"]
