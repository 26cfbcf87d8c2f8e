"""Short texts for values in state and in records."""

from __future__ import annotations

import reprlib
from typing import Any

from millrace.common.time.local_time import time_text
from millrace.common.types.json_values import MAX_BITS
from millrace.common.window.time_window import TimeWindow

__all__ = ["ShortRepr", "shown"]


class ShortRepr(reprlib.Repr):
    """Short ``repr`` that also handles integers too long for Python to print."""

    def repr_int(self, x: int, level: int) -> str:
        text = repr(x) if x.bit_length() <= MAX_BITS else hex(x)
        half = self.maxlong // 2 - 2
        return text if len(text) <= self.maxlong else f"{text[:half]}...{text[-half:]}"


_REPR = ShortRepr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60
_REPR.maxtuple = _REPR.maxlist = _REPR.maxdict = _REPR.maxset = 6


def shown(value: Any) -> str:
    """The value as Python prints it, but shortened; windows are shown as start and end times.

    Example:
        >>> shown({"a": (1, 2)}), len(shown("x" * 1000))
        ("{'a': (1, 2)}", 60)
    """
    try:
        if isinstance(value, TimeWindow):
            return f"[{time_text(value.start)}, {time_text(value.end)})"
        return _REPR.repr(value)
    except Exception:  # it is the user's __repr__, or a window of odd numbers
        return f"<{type(value).__name__}>"
