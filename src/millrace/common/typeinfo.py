"""PyFlink's import path for `millrace.common.types.typeinfo`."""

from __future__ import annotations

from millrace.common.types.typeinfo import *  # noqa: F403
from millrace.common.types.typeinfo import __all__  # noqa: F401
