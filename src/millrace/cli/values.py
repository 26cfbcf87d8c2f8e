"""Values of state in a few characters."""

from __future__ import annotations

import reprlib
from typing import Any

from millrace.cli.printing import time_text
from millrace.common.window.time_window import TimeWindow

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60
_REPR.maxtuple = _REPR.maxlist = _REPR.maxdict = _REPR.maxset = 6


def shown(value: Any) -> str:
    """The value as Python writes it, shortened; windows as people write them.

    Example:
        >>> shown({"a": (1, 2)}), len(shown("x" * 1000))
        ("{'a': (1, 2)}", 60)
    """
    if isinstance(value, TimeWindow):
        return f"[{time_text(value.start)}, {time_text(value.end)})"
    try:
        return _REPR.repr(value)
    except Exception:  # it is the user's __repr__
        return f"<{type(value).__name__}>"
