"""PyFlink's path of `ExternalizedCheckpointRetention`."""

from __future__ import annotations

from millrace.common.config.checkpoint_config import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
