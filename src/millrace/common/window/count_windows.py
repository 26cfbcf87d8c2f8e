"""Windows over a number of records with the same key (Flink docs, "Windows"; PyFlink's count
assigners).

A record's number within its key decides its windows; numbers are kept in the key's state.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar

from millrace.common.errors import JobDefinitionError
from millrace.common.state.descriptors import ValueStateDescriptor
from millrace.common.time.watermark_generator import MAX_WATERMARK
from millrace.common.types.serializer import TypeSerializer
from millrace.common.types.typeinfo import Types
from millrace.common.window.base_window import Window
from millrace.common.window.triggers import CountTrigger, PurgingTrigger
from millrace.common.window.window_assigner import WindowAssigner

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
]

NUMBER = struct.Struct(">q")


@dataclass(frozen=True, slots=True, order=True)
class CountWindow(Window):
    """A window with a number, counted from 0 per key."""

    id: int

    def max_timestamp(self) -> int:
        return MAX_WATERMARK


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Serializer of a count window: its number in eight bytes, big-endian."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        stream.write(NUMBER.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        return CountWindow(*NUMBER.unpack(stream.read(NUMBER.size)))


class _CountWindows(WindowAssigner[Any, CountWindow]):
    __slots__ = ()
    COUNT: ClassVar[ValueStateDescriptor[int]] = ValueStateDescriptor("assigned", Types.LONG())
    COUNT.name = "@assigned"  # no state of the window function can be called that
    size: int

    def _number(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """Number of the record within its key, from 0."""
        state = context.get_runtime_context().get_state(self.COUNT)
        number: int = state.value() or 0
        state.update(number + 1)
        return number

    def get_default_trigger(self, env: Any = None) -> PurgingTrigger[Any, CountWindow]:
        # a full window is done with: nothing can be added to it any more
        return PurgingTrigger.of(CountTrigger(self.size))

    def get_window_serializer(self) -> CountWindowSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class CountTumblingWindowAssigner(_CountWindows):
    """Consecutive windows of ``size`` records of a key. The last one fires only if it is full.

    Raises:
        JobDefinitionError: unless ``size > 0``.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise JobDefinitionError(f"count windows need a size > 0, got {self.size}")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of a number of records."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> tuple[CountWindow]:
        return (CountWindow(self._number(context) // self.size),)


@dataclass(frozen=True, slots=True)
class CountSlidingWindowAssigner(_CountWindows):
    """Windows of ``size`` records of a key, a new one every ``slide`` records. As in PyFlink only
    full windows fire (the JVM API fires the first ones before they are full).

    Raises:
        JobDefinitionError: unless ``size > 0`` and ``slide > 0``.
    """

    size: int
    slide: int

    def __post_init__(self) -> None:
        if self.size <= 0 or self.slide <= 0:
            raise JobDefinitionError(
                f"count windows need size > 0 and slide > 0, got {self.size} and {self.slide}"
            )

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of a number of records, one every ``window_slide`` records."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        number = self._number(context)
        last = number // self.slide
        first = max(0, -(-(number - self.size + 1) // self.slide))
        return [CountWindow(window) for window in range(last, first - 1, -1)]
