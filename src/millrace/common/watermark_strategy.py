"""PyFlink's import path for `millrace.common.time.watermark_strategy`."""

from __future__ import annotations

from millrace.common.time.amounts import Duration  # noqa: F401  (PyFlink has it here)
from millrace.common.time.watermark_strategy import *  # noqa: F403
from millrace.common.time.watermark_strategy import __all__  # noqa: F401
