"""Functions that read state by key or by window, and that write it row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from millrace.common.functions.base import Function
from millrace.common.functions.runtime_context import KeyedStateStore
from millrace.common.state.broadcast_state import BroadcastState
from millrace.common.state.descriptors import MapStateDescriptor
from millrace.common.state.operator_state import CheckpointedFunction
from millrace.common.time.timer_service import TimerService

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "StateBootstrapFunction",
    "WindowReaderFunction",
]


class KeyedStateReaderFunction(Function):
    """Reads the state of each key. Flink: class ``KeyedStateReaderFunction``.

    Get states in `open`, from the descriptors that the operator has; they are read only.

    Example:
        >>> from millrace.common.state import ValueStateDescriptor
        >>> class Totals(KeyedStateReaderFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        ...     def read_key(self, key, ctx):
        ...         yield {"user": key, "total": self.total.value()}
    """

    class Context(ABC):
        """Timers of the current key."""

        @abstractmethod
        def registered_event_time_timers(self) -> list[int]:
            """Event-time timers of the key, in ms since the epoch, earliest first."""

        @abstractmethod
        def registered_processing_time_timers(self) -> list[int]:
            """Processing-time timers of the key, in ms since the epoch, earliest first."""

    @abstractmethod
    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> Iterable[Any]:
        """Read a key; returns values, or records with fields, which become columns."""


class WindowReaderFunction(Function):
    """Reads each window of each key. Flink: class ``WindowReaderFunction``.

    Example:
        >>> class Sizes(WindowReaderFunction):
        ...     def read_window(self, key, context, elements):
        ...         yield key, context.window().start, len(elements)
    """

    class Context(ABC):
        """The current window, its state and timers."""

        @abstractmethod
        def window(self) -> Any:
            """The window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """The window function's state of this key and window."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """The window function's state of this key."""

        @abstractmethod
        def registered_event_time_timers(self) -> list[int]:
            """Event-time timers of this key and window, in ms since the epoch."""

        @abstractmethod
        def registered_processing_time_timers(self) -> list[int]:
            """Processing-time timers of this key and window, in ms since the epoch."""

    @abstractmethod
    def read_window(
        self, key: Any, context: WindowReaderFunction.Context, elements: list[Any]
    ) -> Iterable[Any]:
        """Read a window; ``elements`` has all elements of the window, or the one result of its
        aggregate.
        """


class KeyedStateBootstrapFunction(Function):
    """Writes state and timers of each row's key. Flink: class ``KeyedStateBootstrapFunction``.

    Example:
        >>> from millrace.common.state import ValueStateDescriptor
        >>> class Balances(KeyedStateBootstrapFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        ...     def process_element(self, value, ctx):
        ...         self.total.update(value["amount"])
    """

    class Context(ABC):
        """Key and timestamp of the current row, and timers."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the current row."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Registration of timers of this key: the job that starts with the state fires them."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Event time of the row in ms since the epoch; None if no timestamps were assigned."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        """Write the state of a row: a `Row` with the DataFrame's column names."""


class StateBootstrapFunction(CheckpointedFunction, Function):
    """Writes operator state. Flink: class ``StateBootstrapFunction``.

    Get lists in ``initialize_state``; fill them in `process_element` or ``snapshot_state``.
    """

    @abstractmethod
    def process_element(self, value: Any) -> None:
        """Take a row: a `Row` with the DataFrame's column names."""


class BroadcastStateBootstrapFunction(Function):
    """Writes broadcast state. Flink: class ``BroadcastStateBootstrapFunction``.

    Example:
        >>> RULES = MapStateDescriptor("rules")
        >>> class Rules(BroadcastStateBootstrapFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.get_broadcast_state(RULES).put(value["name"], value["limit"])
    """

    class Context(ABC):
        """Gives access to the state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[Any, Any]
        ) -> BroadcastState[Any, Any]:
            """The broadcast state of a descriptor."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The time of writing, ms since the epoch."""

    @abstractmethod
    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        """Take a row: a `Row` with the DataFrame's column names."""
