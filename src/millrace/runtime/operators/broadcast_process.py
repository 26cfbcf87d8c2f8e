"""Broadcast state pattern: the records of one stream control the processing of another stream.

Input 0 is the stream that is not broadcast, input 1 the broadcast one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from millrace.common.state.descriptors import MapStateDescriptor, StateDescriptor
from millrace.common.time.time_domain import TimeDomain
from millrace.common.time.timer_service import TimerService
from millrace.runtime.detached import are_immutable, detached
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state import BroadcastMap, OperatorStates, ReadOnlyMap
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.operators.keyed_process import KeyedProcessOperator
from millrace.runtime.produced_records import producing
from millrace.state.redistribution_mode import RedistributionMode

Descriptors = Sequence[MapStateDescriptor[Any, Any]]
KeyBatch = Callable[[list[Any]], list[Any]]


def _declared(descriptors: Descriptors) -> tuple[OperatorStateDeclaration, ...]:
    names = dict.fromkeys(descriptor.name for descriptor in descriptors)
    return tuple(OperatorStateDeclaration(name, RedistributionMode.BROADCAST) for name in names)


class _BroadcastStates:
    """The broadcast maps that the program declared, in a writable and a read-only form."""

    def __init__(self, operator: Operator, descriptors: Descriptors) -> None:
        context = operator.context
        states = OperatorStates(context.state, context.uid, context.subtask_index)
        self._name = context.name
        tables = {d.name: (d, states.table(d, RedistributionMode.BROADCAST)) for d in descriptors}
        self._writable = {name: (d, BroadcastMap(table, d)) for name, (d, table) in tables.items()}
        self._readable = {name: (d, ReadOnlyMap(table, d)) for name, (d, table) in tables.items()}
        self._mutable: bool | None = None
        """Cached result of `hold_mutable`. None if it must be determined again."""

    def writable(self, descriptor: MapStateDescriptor[Any, Any]) -> BroadcastMap:
        """Writable map for a descriptor."""
        state: BroadcastMap = self._found(self._writable, descriptor)
        return state

    def readable(self, descriptor: MapStateDescriptor[Any, Any]) -> ReadOnlyMap:
        """Read-only map for a descriptor."""
        state: ReadOnlyMap = self._found(self._readable, descriptor)
        return state

    def hold_mutable(self) -> bool:
        """Whether user code may hold an object that is in state and can be changed in place."""
        if self._mutable is None:
            maps = [state for _, state in self._readable.values()]
            self._mutable = not all(are_immutable(list(state.values())) for state in maps)
        return self._mutable

    def changed(self) -> None:
        """Record that user code may have written to the maps."""
        self._mutable = None

    def _found(self, among: dict[str, tuple[Any, Any]], descriptor: StateDescriptor) -> Any:
        declared, state = among.get(descriptor.name, (None, None))
        if declared is descriptor:  # the usual case, asked for every record
            return state
        if declared is None or declared.type_info != descriptor.type_info:
            raise StateError(
                f"operator '{self._name}' has no broadcast state {descriptor!r}; give broadcast() "
                f"its descriptor (it was given: {', '.join(sorted(among)) or 'none'})"
            )
        return state


class _BaseContext(BaseBroadcastProcessFunction.BaseContext):
    def __init__(self, operator: Operator, states: _BroadcastStates) -> None:
        self._operator = operator
        self._states = states
        self.time: int | None = None

    def timestamp(self) -> int | None:
        return self.time

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark


class _ReadOnly(_BaseContext, BaseBroadcastProcessFunction.ReadOnlyContext):
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[Any, Any]) -> Any:
        return self._states.readable(state_descriptor)


class _Writing(_BaseContext, BaseBroadcastProcessFunction.Context):
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[Any, Any]) -> Any:
        return self._states.writable(state_descriptor)


class BroadcastProcessOperator(FunctionOperator):
    """Runs a `BroadcastProcessFunction`."""

    def __init__(self, function: Any, descriptors: Descriptors) -> None:
        super().__init__(function)
        self._descriptors = descriptors
        self.operator_states = _declared(descriptors)

    def open(self) -> None:
        states = self._states = _BroadcastStates(self, self._descriptors)
        reading, writing = _ReadOnly(self, states), _Writing(self, states)
        self._sides: list[tuple[Any, _BaseContext]] = [
            (producing(self.function.process_element), reading),
            (producing(self.function.process_broadcast_element), writing),
        ]
        super().open()

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        function, context = self._sides[number]
        # the broadcast side may put what it yields into state, and change it again later
        shared = number == 1 or self._states.hold_mutable()
        _process(self, function, context, shared, values, timestamps)
        if number == 1:
            self._states.changed()

    def restore(self) -> None:
        super().restore()
        self._states.changed()


class _KeyedReadOnly(_ReadOnly, KeyedBroadcastProcessFunction.OnTimerContext):
    """Context for records of the keyed side and for timers. It takes keys and timers from the
    operator's context.
    """

    def __init__(self, operator: KeyedBroadcastProcessOperator, states: _BroadcastStates) -> None:
        super().__init__(operator, states)
        self._keyed = operator.keyed_context

    def timestamp(self) -> int | None:
        return self._keyed.timestamp()

    def timer_service(self) -> TimerService:
        return self._keyed.timer_service()

    def get_current_key(self) -> Any:
        return self._keyed.get_current_key()

    def time_domain(self) -> TimeDomain:
        return self._keyed.time_domain()


class _KeyedWriting(_Writing, KeyedBroadcastProcessFunction.Context):
    def __init__(self, operator: KeyedBroadcastProcessOperator, states: _BroadcastStates) -> None:
        super().__init__(operator, states)
        self._keyed_operator = operator

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
    ) -> None:
        operator = self._keyed_operator
        current = operator.current
        state = operator.states.get_any(state_descriptor)
        try:
            for current.key in operator.states.keys(state_descriptor):
                function(current.key, state)
        finally:
            operator.leave_key()


class _NoKey:
    """Placeholder for the current key while a record of the broadcast stream is processed. Any
    use as a key raises StateError."""

    def __hash__(self) -> int:
        raise StateError(
            "the broadcast side has no current key, so it cannot use keyed state; use "
            "ctx.apply_to_keyed_state, or broadcast state"
        )


NO_KEY = _NoKey()


class KeyedBroadcastProcessOperator(KeyedProcessOperator):
    """Runs a `KeyedBroadcastProcessFunction`."""

    def __init__(self, function: Any, key_batch: KeyBatch, descriptors: Descriptors) -> None:
        super().__init__(function, key_batch)
        self._descriptors = descriptors
        self.operator_states = _declared(descriptors)

    def bind(self) -> None:
        states = self._broadcast_states = _BroadcastStates(self, self._descriptors)
        reading = _KeyedReadOnly(self, states)
        self._writing = _KeyedWriting(self, states)
        function = self.function
        element, on_timer = producing(function.process_element), producing(function.on_timer)
        self._element = lambda value, ctx: element(value, reading)
        self._on_timer = lambda timestamp, ctx: on_timer(timestamp, reading)
        self._broadcast = producing(function.process_broadcast_element)

    def leave_key(self) -> None:
        """Unset the current key."""
        self.current.key = NO_KEY

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        if number == 0:
            self.current.shared = self.current.shared or self._broadcast_states.hold_mutable()
            self.process(values, timestamps)
        else:
            self._process_broadcast(values, timestamps)

    def _process_broadcast(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.leave_key()
        _process(self, self._broadcast, self._writing, True, values, timestamps)
        self._broadcast_states.changed()

    def restore(self) -> None:
        super().restore()
        self._broadcast_states.changed()


def _process(
    operator: FunctionOperator,
    function: Callable[[Any, Any], Iterable[Any] | None],
    context: _BaseContext,
    shared: bool,
    values: list[Any],
    timestamps: list[int] | None,
) -> None:
    """Call a function with every record and emit the results. With ``shared`` the results are
    copied, since state may hold the same objects."""
    results: list[Any] = []
    times: list[int] = []
    for index, value in enumerate(values):
        context.time = timestamp = None if timestamps is None else timestamps[index]
        produced = function(value, context)
        if produced is not None:
            results.extend(map(detached, produced) if shared else produced)
            if timestamp is not None:
                times.extend([timestamp] * (len(results) - len(times)))
    operator.emit_results(results, None if timestamps is None else times)
