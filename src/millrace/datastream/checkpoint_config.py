"""PyFlink's path of `CheckpointConfig`."""

from __future__ import annotations

from millrace.common.config.checkpoint_config import CheckpointConfig

__all__ = ["CheckpointConfig"]
