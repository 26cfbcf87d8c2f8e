"""Key whose record or timer is being processed."""

from __future__ import annotations

from typing import Any

from millrace.state.frozen import is_immutable


class CurrentKey:
    """Key whose record or timer is being processed."""

    __slots__ = ("key", "shared")

    def __init__(self) -> None:
        self.key: Any = None
        self.shared = False
        """Whether user code and state hold the same objects, which either may change in place."""

    def note(self, value: Any) -> None:
        """Record that user code holds a value that is also in state, if the value can be changed
        in place."""
        if not self.shared and not is_immutable(value):
            self.shared = True
