"""PyFlink's import path for `CheckpointConfig`."""

from __future__ import annotations

from millrace.common.config.checkpoint_config import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)
from millrace.common.time.amounts import Duration

__all__ = [
    "CheckpointConfig",
    "CheckpointingMode",
    "Duration",
    "ExternalizedCheckpointRetention",
]
