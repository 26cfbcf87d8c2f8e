"""Functions of the broadcast state pattern (Flink docs, "The Broadcast State Pattern").

Every subtask sees all the records of the broadcast stream and keeps what it needs of them in
broadcast state; the records of the other stream read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from millrace.common.functions.base import Function
from millrace.common.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from millrace.common.state.descriptors import MapStateDescriptor, StateDescriptor
from millrace.common.time.time_domain import TimeDomain
from millrace.common.time.timer_service import TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
]

IN1_contra = TypeVar("IN1_contra", contravariant=True)
IN2_contra = TypeVar("IN2_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
KEY_co = TypeVar("KEY_co", covariant=True)


class BaseBroadcastProcessFunction(Function):
    """Base of broadcast functions, with keyed and with plain records."""

    class BaseContext(ABC):
        """Base of the contexts: clocks and the current timestamp, in ms since the epoch."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Event time of the current record or timer; None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Current processing time: the clock of this machine."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time watermark."""

    class Context(BaseContext):
        """Context of the broadcast side, which may change broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[Any, Any]
        ) -> BroadcastState[Any, Any]:
            """The broadcast state of a descriptor.

            Raises:
                StateError: `DataStream.broadcast` was not given that descriptor.
            """

    class ReadOnlyContext(BaseContext):
        """Context for records of the stream that is not broadcast: it can only read broadcast
        state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[Any, Any]
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """The broadcast state of a descriptor.

            Raises:
                StateError: `DataStream.broadcast` was not given that descriptor.
            """


class BroadcastProcessFunction(
    BaseBroadcastProcessFunction, Generic[IN1_contra, IN2_contra, OUT_co]
):
    """Handles the records of a stream with state from a broadcast stream."""

    @abstractmethod
    def process_element(
        self, value: IN1_contra, ctx: BaseBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the stream that is not broadcast; usually a generator."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2_contra, ctx: BaseBroadcastProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the broadcast stream, in every subtask; the state must change in
        the same way in all of them."""


class KeyedBroadcastProcessFunction(
    BaseBroadcastProcessFunction, Generic[KEY_co, IN1_contra, IN2_contra, OUT_co]
):
    """Handles the records of a keyed stream with state from a broadcast stream.

    Example:
        >>> from millrace.common.types.typeinfo import Types
        >>> LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
        >>> class Above(KeyedBroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         limit = ctx.get_broadcast_state(LIMITS).get("limit")
        ...         if limit is not None and value > limit:
        ...             yield ctx.get_current_key(), value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(LIMITS).put("limit", value)
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """Context of the broadcast side, with access to all keys of this subtask."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
        ) -> None:
            """Call ``function(key, state)`` for every key with an entry in a state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """Context of the keyed side: the current key and its timers."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Clocks and timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the record or timer."""

    class OnTimerContext(ReadOnlyContext):
        """Key, timestamp and time domain of the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The time domain of the timer."""

    @abstractmethod
    def process_element(
        self, value: IN1_contra, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the keyed stream; usually a generator."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2_contra, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the broadcast stream, in every subtask; the state must change in
        the same way in all of them."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a timer registered for ``timestamp``; usually a generator."""
        return None
