"""PyFlink's path of `CheckpointingMode`."""

from __future__ import annotations

from millrace.common.config.checkpoint_config import CheckpointingMode

__all__ = ["CheckpointingMode"]
