"""Operators that turn rows into state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.common.state.broadcast_state import BroadcastState
from millrace.common.state.descriptors import MapStateDescriptor
from millrace.runtime.function_operator import Adapter, FunctionOperator
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state import OperatorStates
from millrace.runtime.operators.keyed_process import KeyedProcessOperator
from millrace.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)

__all__ = ["BroadcastBootstrap", "KeyedBootstrap", "ListBootstrap"]


@dataclass(frozen=True, slots=True)
class KeyedBootstrap:
    """Factory of the operator of keyed state."""

    function: KeyedStateBootstrapFunction
    key_batch: Callable[[list[Any]], list[Any]]

    def __call__(self) -> Operator:
        return KeyedProcessOperator(_Keyed(self.function), self.key_batch)


class _Keyed(Adapter):
    """Runs a bootstrap function as the user function of a keyed operator with timers."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """Write state, and emit nothing."""
        self.wrapped.process_element(value, ctx)
        return None

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        """Do nothing: no timer fires while state is written."""
        raise AssertionError("a timer fired while state was written")


@dataclass(frozen=True, slots=True)
class ListBootstrap:
    """Factory of the operator that writes operator state."""

    function: StateBootstrapFunction

    def __call__(self) -> Operator:
        return _ListOperator(self.function)


class _ListOperator(FunctionOperator):
    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            self.function.process_element(value)


@dataclass(frozen=True, slots=True)
class BroadcastBootstrap:
    """Factory of the operator of broadcast state."""

    function: BroadcastStateBootstrapFunction

    def __call__(self) -> Operator:
        return _BroadcastOperator(self.function)


class _BroadcastOperator(FunctionOperator):
    def open(self) -> None:
        super().open()
        context = self.context
        states = OperatorStates(context.state, context.uid, context.subtask_index)
        self._writing = _BootstrapContext(states, context.clock)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            self.function.process_element(value, self._writing)


class _BootstrapContext(BroadcastStateBootstrapFunction.Context):
    def __init__(self, states: OperatorStates, clock: Callable[[], int]) -> None:
        self._states = states
        self._clock = clock

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[Any, Any]
    ) -> BroadcastState[Any, Any]:
        return self._states.get_broadcast_state(state_descriptor)

    def current_processing_time(self) -> int:
        return self._clock()
