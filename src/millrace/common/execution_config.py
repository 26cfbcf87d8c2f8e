"""PyFlink's import path for `millrace.common.config.execution_config`."""

from __future__ import annotations

from millrace.common.config.execution_config import (
    ExecutionConfig,
)

__all__ = [
    "ExecutionConfig",
]
