"""Runtime context of pattern functions and of conditions."""

from __future__ import annotations

from typing import NoReturn

from millrace.common.errors import StateError
from millrace.runtime.runtime_context import StreamRuntimeContext

__all__ = ["PatternRuntimeContext"]


class PatternRuntimeContext(StreamRuntimeContext):
    """Runtime context of pattern functions. It refuses state, as in Flink."""

    def _refuse(self) -> NoReturn:
        raise StateError(
            f"operator '{self._context.name}' looks for a pattern, and functions and conditions of "
            "patterns have no state of their own: conditions see the events taken so far "
            "(ctx.get_events_for_pattern); keep more in a KeyedProcessFunction behind key_by of "
            "the matches"
        )
