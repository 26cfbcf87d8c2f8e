"""Exports `CheckpointingMode` under the module name that PyFlink has for it."""

from __future__ import annotations

from millrace.common.config.checkpoint_config import CheckpointingMode

__all__ = ["CheckpointingMode"]
