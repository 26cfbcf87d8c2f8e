"""PyFlink's path of where checkpoints are kept."""

from __future__ import annotations

from millrace.common.config.checkpoint_storage import FileSystemCheckpointStorage

__all__ = ["FileSystemCheckpointStorage"]
