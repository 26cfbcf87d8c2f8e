"""PyFlink's import path for `millrace.common.config.configuration`."""

from __future__ import annotations

from millrace.common.config.configuration import *  # noqa: F403
from millrace.common.config.configuration import __all__  # noqa: F401
