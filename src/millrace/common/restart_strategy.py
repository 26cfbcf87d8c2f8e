"""PyFlink's import path for `millrace.common.config.restart_strategy`."""

from __future__ import annotations

from millrace.common.config.restart_strategy import *  # noqa: F403
from millrace.common.config.restart_strategy import __all__  # noqa: F401
