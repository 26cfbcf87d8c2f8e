"""PyFlink's import path for `ExternalizedCheckpointRetention`."""

from __future__ import annotations

from millrace.common.config.checkpoint_config import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
