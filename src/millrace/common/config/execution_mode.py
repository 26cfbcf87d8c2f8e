"""The runtime mode of a job: streaming or batch."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """Runtime mode of a job (Flink docs, "Execution Mode (Batch/Streaming)")."""

    STREAMING = 0
    """Epoch after epoch, with checkpoints; results as they come."""
    BATCH = 1
    """One epoch over bounded input, without checkpoints; final results only."""
    AUTOMATIC = 2
    """`BATCH` if all sources are bounded, otherwise `STREAMING`."""
