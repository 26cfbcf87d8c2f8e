"""PyFlink's path of what is in `millrace.common.time.watermark_strategy`."""

from __future__ import annotations

from millrace.common.time.watermark_strategy import (
    BoundedOutOfOrdernessGenerator,
    MonotonousGenerator,
    TimestampAssigner,
    WatermarkAlignment,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)

__all__ = [
    "BoundedOutOfOrdernessGenerator",
    "MonotonousGenerator",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]
