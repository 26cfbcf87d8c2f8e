"""Base of operators with a user function. It manages the function's life cycle, and calls its
methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import itemgetter, length_hint
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import Function
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.common.state.operator_state import CheckpointedFunction
from millrace.common.types.batch import RowBatch
from millrace.runtime.epoch import Ack, EpochContext
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state import InitializationContext, SnapshotContext
from millrace.runtime.runtime_context import StreamRuntimeContext


def as_callable(function: Any, method: str) -> Callable[..., Any]:
    """The method of a Flink function object that is to be called, or a callable itself."""
    implementation = getattr(function, method, None) if isinstance(function, Function) else function
    if not callable(implementation):
        raise JobDefinitionError(
            f"{function!r} is neither callable nor an object with a method {method}()"
        )
    called: Callable[..., Any] = implementation
    return called


class Adapter(Function):
    """A wrapper around a user's function. The user's function may have operator state."""

    def __init__(self, function: Any) -> None:
        self.wrapped = function

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self.wrapped, Function):
            self.wrapped.open(runtime_context)

    def close(self) -> None:
        if isinstance(self.wrapped, Function):
            self.wrapped.close()


class FunctionOperator(Operator):
    """An operator with one user function or plain callable."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._checkpointed = function.wrapped if isinstance(function, Adapter) else function
        self._has_operator_state = isinstance(self._checkpointed, CheckpointedFunction)
        self._keyed_states: KeyedStates | None = None

    def open(self) -> None:
        """Open the user's function."""
        self.open_function(None)

    def open_function(self, states: KeyedStates | None) -> None:
        """Open the user's function with a runtime context that gives access to ``states``."""
        self._keyed_states = states
        if self._has_operator_state:
            self._checkpointed.initialize_state(InitializationContext(self.context, states))
        if isinstance(self.function, Function):
            self.function.open(self.runtime_context(states))

    def runtime_context(self, states: KeyedStates | None) -> StreamRuntimeContext:
        """Context with which the user's function is opened."""
        return StreamRuntimeContext(self.context, states)

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._epoch = epoch.number

    def end_epoch(self, ended: bool) -> None:
        if self._keyed_states is not None:
            self._keyed_states.end_epoch()
        if self._has_operator_state:
            self._checkpointed.snapshot_state(SnapshotContext(self._epoch))

    def contribute(self, ack: Ack) -> None:
        """Report the queryable states that the function has begun to use."""
        if self._keyed_states is not None:
            ack.queryable += self._keyed_states.newly_queryable()

    def close(self) -> None:
        """Close the user's function."""
        if isinstance(self.function, Function):
            with suppress(Exception):
                self.function.close()

    def emit_results(self, results: list[Any], timestamps: list[int] | None) -> None:
        """Emit the records that a process function yielded. Tagged records (``yield tag, value``)
        go to their side outputs.
        """
        if not results:
            return
        if not has_tagged(results):
            self.output.emit(RowBatch(results, timestamps))
            return
        main: list[Any] = []
        main_times: list[int] = []
        tagged: dict[OutputTag[Any], tuple[list[Any], list[int]]] = {}
        for index, result in enumerate(results):
            if is_tagged(result):
                values, times = tagged.setdefault(result[0], ([], []))
                result = result[1]
            else:
                values, times = main, main_times
            values.append(result)
            if timestamps is not None:
                times.append(timestamps[index])
        if main:
            self.output.emit(RowBatch(main, main_times if timestamps is not None else None))
        for tag, (values, times) in tagged.items():
            self.side_output(tag).emit(RowBatch(values, times if timestamps is not None else None))


def last_read(values: list[Any], reading: Iterator[Any]) -> Any:
    """Record at which a comprehension over ``reading`` (an iterator of ``values``) stopped. In
    newer versions of Python, the comprehension's loop variable no longer exists at that point.
    """
    return values[len(values) - length_hint(reading) - 1]


def is_tagged(result: Any) -> bool:
    """Whether a result is for a side output."""
    return type(result) is tuple and len(result) == 2 and type(result[0]) is OutputTag


def has_tagged(results: list[Any]) -> bool:
    """Whether any of the results is for a side output. The check is fast, because it is made for
    every batch.
    """
    if not OutputTag.any_made or tuple not in set(map(type, results)):
        return False
    try:
        return OutputTag in set(map(type, map(itemgetter(0), results)))
    except Exception:  # not everything has a first element, nor fails alike for it
        return any(map(is_tagged, results))
