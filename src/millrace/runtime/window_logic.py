"""Aggregate and window function of a window operator, and the calls of the window function."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.base import (
    AggregateFunction,
    Function,
    ProcessWindowFunction,
    WindowFunction,
)
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.common.window import TimeWindow, Window, WindowAssigner
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.detached import detached
from millrace.runtime.function_operator import FunctionOperator, as_callable
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.operator import Operator
from millrace.runtime.produced_records import producing
from millrace.runtime.runtime_context import StreamRuntimeContext
from millrace.runtime.state_scope import WINDOW

_MERGEABLE = (max, min, operator.add)
"""Built-in reduce functions that may merge panes. They cannot have an attribute ``mergeable``."""

Namespace = Any
"""A window as the namespace of its state: ``(start, end)`` of a `TimeWindow`, else the window."""


@dataclass(frozen=True)
class WindowLogic:
    """Computation per window: an incremental aggregate, a window function over its result or
    over the elements, or both."""

    aggregate: AggregateFunction[Any, Any, Any] | None = None
    reduce: Any = None
    window_function: Any = None
    share_panes: bool | None = None
    """Whether overlapping windows share panes (one accumulator per pane, merged per window). None
    if the function declares it."""

    @property
    def incremental(self) -> bool:
        """Whether panes hold accumulators rather than elements."""
        return self.aggregate is not None or self.reduce is not None

    def functions(self) -> list[Any]:
        """User functions to open and close."""
        return [f for f in (self.aggregate, self.reduce, self.window_function) if f is not None]

    def accumulate_functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Two functions: the first adds a value to an accumulator, and the second makes an
        accumulator from the first value.
        """
        aggregate = self.aggregate
        if aggregate is not None:
            add, create = aggregate.add, aggregate.create_accumulator
            return add, lambda value: add(value, create())
        reduce = as_callable(self.reduce, "reduce")
        return (lambda value, so_far: reduce(so_far, value)), lambda value: value

    def merge_function(self) -> Callable[[Any, Any], Any]:
        """Function that merges two accumulators."""
        if self.aggregate is not None:
            return self.aggregate.merge
        return as_callable(self.reduce, "reduce")

    def panes_are_shared(self) -> bool:
        """Whether overlapping windows share their panes.

        Panes of elements always are. Panes of accumulators need a ``merge`` (or ``reduce``) that
        is right for any two accumulators. Flink requires that of session windows only and many
        programs have none, so it has to be declared.
        """
        if not self.incremental:
            return True
        if self.share_panes is not None:
            return self.share_panes
        function = self.reduce if self.aggregate is None else self.aggregate
        return function in _MERGEABLE or getattr(function, "mergeable", False) is True

    def result_function(self) -> Callable[[Any], Any]:
        """Function that makes the result of an accumulator."""
        return self.aggregate.get_result if self.aggregate is not None else _same


def _same(accumulator: Any) -> Any:
    return accumulator


def namespace_of(window: Window) -> Namespace:
    """Namespace under which the state of a window is stored."""
    return (window.start, window.end) if type(window) is TimeWindow else window


def window_of(namespace: Namespace) -> Any:
    """Window of a namespace; the inverse of `namespace_of`."""
    return TimeWindow(*namespace) if type(namespace) is tuple else namespace


class ProcessContext(ProcessWindowFunction.Context[Any]):
    """Context of a process window function. Also holds the current key and window."""

    def __init__(
        self, operator: Operator, current: CurrentKey, states: KeyedStates, merging: bool
    ) -> None:
        state, uid = operator.context.state, operator.context.uid
        self._operator = operator
        self.current = current
        self.windowed = CurrentKey()
        self._window_state = KeyedStates(state, uid, self.windowed, WINDOW)
        self._global_state = states
        self._merging = merging
        self._window: Any = None

    def enter(self, key: Any, window: Any) -> None:
        """Set the current key and window."""
        self.current.key = key
        self.windowed.key = (namespace_of(window), key)
        self._window = window

    def window(self) -> Any:
        return self._window

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def window_state(self) -> KeyedStates:
        if self._merging:
            raise StateError(
                f"'{self._operator.context.name}' has windows that merge (sessions), and window "
                "state is not merged with them; use context.global_state(), or an accumulator"
            )
        return self._window_state

    def global_state(self) -> KeyedStates:
        return self._global_state


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """Clock and runtime context of a window assigner."""

    def __init__(self, operator: Operator, runtime_context: RuntimeContext) -> None:
        self._operator = operator
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime_context


class WindowEvaluation:
    """Calls the window function of one operator, and holds its contexts."""

    def __init__(
        self, operator: FunctionOperator, logic: WindowLogic, merging: bool = False
    ) -> None:
        context = operator.context
        self._logic = logic
        self.current = CurrentKey()
        states = KeyedStates(context.state, context.uid, self.current, clock=context.clock)
        runtime_context = StreamRuntimeContext(context, states)
        for function in (logic.aggregate, logic.reduce):
            if isinstance(function, Function):
                function.open(runtime_context)
        operator.open_function(states)
        self.context = ProcessContext(operator, self.current, states, merging)
        self.assigner_context = AssignerContext(operator, runtime_context)
        self.has_clear = isinstance(logic.window_function, ProcessWindowFunction)
        self._call = self._call_of_function()

    def close(self) -> None:
        """Close the user's functions."""
        for function in self._logic.functions():
            if isinstance(function, Function):
                with suppress(Exception):
                    function.close()

    @property
    def emits_aggregates(self) -> bool:
        """Whether there is no window function, so that the aggregate's results are emitted
        unchanged.
        """
        return self._logic.window_function is None

    def evaluate(self, key: Any, window: Any, elements: list[Any], results: list[Any]) -> None:
        """Append the results of a key's window to ``results``. ``elements`` has the window's
        elements, or the aggregate's one result."""
        if self._call is None:
            results.extend(elements)
            return
        self.context.enter(key, window)
        shared_before = self._shared
        produced = self._call(key, window, elements)
        if produced is None:
            return
        results.extend(map(detached, produced) if shared_before else produced)
        if self._shared and not shared_before:  # earlier results may be in state since this call
            results[:] = map(detached, results)

    @property
    def _shared(self) -> bool:
        """Whether the function may hold mutable objects that are also in state. Results are then
        copied before they are emitted."""
        return self.current.shared or self.context.windowed.shared

    def clear(self, key: Any, window: Any) -> None:
        """Call ``clear`` of the process window function when the window is purged."""
        if self.has_clear:
            self.context.enter(key, window)
            self._logic.window_function.clear(self.context)

    def _call_of_function(self) -> Callable[[Any, Any, list[Any]], Any] | None:
        function = self._logic.window_function
        if function is None:
            return None
        if isinstance(function, WindowFunction):
            return producing(function.apply)
        process, context = producing(as_callable(function, "process")), self.context
        return lambda key, window, elements: process(key, context, elements)
