"""Apache Iceberg: an exactly-once sink and a source that follows a table, without a JVM."""

from __future__ import annotations

from millrace.connectors.iceberg.iceberg_sink import IcebergSink
from millrace.connectors.iceberg.iceberg_source import IcebergSource

__all__ = ["IcebergSink", "IcebergSource"]
