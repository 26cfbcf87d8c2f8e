"""PyFlink's import path for `millrace.common.config.config_options`."""

from __future__ import annotations

from millrace.common.config.config_options import *  # noqa: F403
from millrace.common.config.config_options import __all__  # noqa: F401
