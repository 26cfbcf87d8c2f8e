"""PyFlink's import path for the storage of checkpoints."""

from __future__ import annotations

from millrace.common.config.checkpoint_storage import FileSystemCheckpointStorage

__all__ = ["FileSystemCheckpointStorage"]
