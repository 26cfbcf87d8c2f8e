"""The sink that runs Spark jobs; it is defined in `millrace.spark.connector`."""

from __future__ import annotations

from millrace.spark.connector import SparkCheckpoint, SparkSink

__all__ = ["SparkCheckpoint", "SparkSink"]
