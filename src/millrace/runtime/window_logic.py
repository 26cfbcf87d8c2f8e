"""What a window computes, and how its function is called."""

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
"""Functions to reduce with that cannot declare anything."""

Namespace = Any
"""What stands for a window in tables: plain data for windows of time, else the window."""


@dataclass(frozen=True)
class WindowLogic:
    """What is computed per window: an incremental aggregate, a function over it or over the
    elements, or both."""

    aggregate: AggregateFunction[Any, Any, Any] | None = None
    reduce: Any = None
    window_function: Any = None
    share_panes: bool | None = None
    """Whether windows that overlap share their panes; None: if the function declares it."""

    @property
    def incremental(self) -> bool:
        """Whether panes hold accumulators rather than elements."""
        return self.aggregate is not None or self.reduce is not None

    def functions(self) -> list[Any]:
        """The user's functions, to open and close."""
        return [f for f in (self.aggregate, self.reduce, self.window_function) if f is not None]

    def accumulation(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """(value, accumulator) -> accumulator, and first value -> accumulator."""
        aggregate = self.aggregate
        if aggregate is not None:
            add, create = aggregate.add, aggregate.create_accumulator
            return add, lambda value: add(value, create())
        reduce = as_callable(self.reduce, "reduce")
        return (lambda value, so_far: reduce(so_far, value)), lambda value: value

    def merging(self) -> Callable[[Any, Any], Any]:
        """(accumulator, accumulator) -> accumulator."""
        if self.aggregate is not None:
            return self.aggregate.merge
        return as_callable(self.reduce, "reduce")

    def shares_panes(self) -> bool:
        """Whether windows that overlap share their panes. It takes a ``merge`` (or ``reduce``)
        that is right for any two accumulators, which Flink asks of sessions only: many a program
        has none, so it has to be declared. Panes of elements are always shared."""
        if not self.incremental:
            return True
        if self.share_panes is not None:
            return self.share_panes
        function = self.reduce if self.aggregate is None else self.aggregate
        return function in _MERGEABLE or getattr(function, "mergeable", False) is True

    def result(self) -> Callable[[Any], Any]:
        """accumulator -> result."""
        return self.aggregate.get_result if self.aggregate is not None else _same


def _same(accumulator: Any) -> Any:
    return accumulator


def namespace_of(window: Window) -> Namespace:
    """What stands for a window in tables."""
    return (window.start, window.end) if type(window) is TimeWindow else window


def window_of(namespace: Namespace) -> Any:
    """The window that a namespace stands for."""
    return TimeWindow(*namespace) if type(namespace) is tuple else namespace


class ProcessContext(ProcessWindowFunction.Context[Any]):
    """The context of a process window function; also holds the current key and window."""

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
        """Make ``key`` and ``window`` the current ones."""
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
    """What a window assigner may ask."""

    def __init__(self, operator: Operator, runtime_context: RuntimeContext) -> None:
        self._operator = operator
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime_context


class WindowEvaluation:
    """Calls the window function of one operator, and knows its contexts."""

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
        self.clears = isinstance(logic.window_function, ProcessWindowFunction)
        self._call = self._calling()

    def close(self) -> None:
        """Close the user's functions."""
        for function in self._logic.functions():
            if isinstance(function, Function):
                with suppress(Exception):
                    function.close()

    @property
    def plain(self) -> bool:
        """Whether there is no function: the aggregate's results are what is emitted."""
        return self._logic.window_function is None

    def evaluate(self, key: Any, window: Any, elements: list[Any], results: list[Any]) -> None:
        """Add to ``results`` what the window of a key emits; ``elements`` holds its elements, or
        the aggregate's one result."""
        if self._call is None:
            results.extend(elements)
            return
        self.context.enter(key, window)
        shared = self._shared
        produced = self._call(key, window, elements)
        if produced is None:
            return
        results.extend(map(detached, produced) if shared else produced)
        if self._shared and not shared:  # as of this call
            results[:] = map(detached, results)

    @property
    def _shared(self) -> bool:
        """Whether the function and state hold the same objects, which either may change."""
        return self.current.shared or self.context.windowed.shared

    def clear(self, key: Any, window: Any) -> None:
        """The window is gone: let the function delete its state."""
        if self.clears:
            self.context.enter(key, window)
            self._logic.window_function.clear(self.context)

    def _calling(self) -> Callable[[Any, Any, list[Any]], Any] | None:
        function = self._logic.window_function
        if function is None:
            return None
        if isinstance(function, WindowFunction):
            return producing(function.apply)
        process, context = producing(as_callable(function, "process")), self.context
        return lambda key, window, elements: process(key, context, elements)
