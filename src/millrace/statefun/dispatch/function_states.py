"""States of functions: values by id, function type and name, with their time to live."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from millrace.common.errors import StateError
from millrace.state.nested_table import NestedTable
from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.invocation.batch import StateSpec
from millrace.statefun.protocol import AFTER_INVOKE, NONE

__all__ = ["FunctionStates"]

_SWEPT = 256
"""Number of ids that are looked at for expired states per epoch."""
_MEASURED = 128
"""Number of ids whose states are measured at a time."""
_LOOKS = 16
"""Number of measurements that an estimate uses."""
_NOTHING = TypedValue("", False, b"")
_NEVER = -1
"""Time of the last use of a state that does not expire."""


class FunctionStates:
    """States of all addresses of a subtask.

    Args:
        table: map state by id. Its inner keys are function type and state name, its values type
            name, bytes and the time (ms since 1970) of the last use that counts.
        clock: processing time in ms since 1970.
    """

    def __init__(self, table: NestedTable, clock: Callable[[], int]) -> None:
        self._table = table
        self._clock = clock
        self._specs: dict[FunctionType, dict[str, StateSpec]] = {}
        self._ahead: list[str] = []
        self._has_ttl = False
        self._unmeasured: list[str] = []
        self._looks: deque[tuple[int, Counter[str], Counter[str]]] = deque(maxlen=_LOOKS)
        """Number of ids, and addresses and bytes by function type, of the last measurements."""

    def known(self, function: FunctionType) -> bool:
        """Whether the states of the function type are known. This may also be known if it has
        none."""
        return function in self._specs

    def register(self, function: FunctionType, specs: tuple[StateSpec, ...]) -> None:
        """Register states. The first registration of a name wins.

        Raises:
            StateError: a state is registered with another type already.
        """
        registered = self._specs.setdefault(function, {})
        for spec in specs:
            former = registered.setdefault(spec.name, spec)
            if former.typename != spec.typename:
                raise StateError(
                    f"state '{spec.name}' of function {function} has type "
                    f"{former.typename}, but the function now requests type "
                    f"{spec.typename}: use another name for the state"
                )
            self._has_ttl = self._has_ttl or spec.expires != NONE

    def read(self, address: Address) -> dict[str, TypedValue]:
        """All registered states of an address, for an invocation, including states without a value.

        Raises:
            StateError: the stored value has another type.
        """
        specs = self._specs.get(address.function_type)
        if not specs:
            return {}
        entries = self._table.data.get(address.id)
        if not entries:
            return dict.fromkeys(specs, _NOTHING)
        states = {}
        function = f"{address.namespace}/{address.type}"
        for name, spec in specs.items():
            stored = entries.get((function, name))
            states[name] = _NOTHING if stored is None else self._live(address, spec, stored)
        return states

    def _live(self, address: Address, spec: StateSpec, stored: Any) -> TypedValue:
        typename, value, used_at = stored
        key = f"{address.namespace}/{address.type}", spec.name
        if spec.expires != NONE:
            now = self._clock()
            if used_at == _NEVER:  # written before the state could expire: its time begins now
                self._table.put(address.id, key, (typename, value, now))
            elif used_at + spec.ttl_ms <= now:
                self._table.remove(address.id, key)
                return _NOTHING
            if spec.expires == AFTER_INVOKE and used_at != now:
                self._table.put(address.id, key, (typename, value, now))
        if typename != spec.typename:
            raise StateError(
                f"state '{spec.name}' of {address} was written with type {typename}, but the "
                f"function requests type {spec.typename}: use another name for the state"
            )
        return TypedValue(typename, True, value)

    def change(self, address: Address, mutations: dict[str, TypedValue | None]) -> None:
        """Write or delete states.

        Raises:
            StateError: a state is not registered, or a value has another type.
        """
        specs = self._specs.get(address.function_type, {})
        function = f"{address.namespace}/{address.type}"
        for name, value in mutations.items():
            spec = specs.get(name)
            if spec is None:
                raise StateError(
                    f"function {address} changed the state '{name}', which it has not registered: "
                    "add it to the function's specification"
                )
            if value is None:
                self._table.remove(address.id, (function, name))
                continue
            if value.typename != spec.typename:
                raise StateError(
                    f"function {address} set the state '{name}' of type {spec.typename} to a value "
                    f"of type {value.typename or 'nothing'}"
                )
            stored = value.typename, value.value, self._clock() if spec.expires else _NEVER
            self._table.put(address.id, (function, name), stored)

    def forget_specs(self) -> None:
        """Drop all registrations, because the table was replaced. Functions register their
        states again."""
        self._specs.clear()
        self._ahead.clear()
        self._unmeasured.clear()
        self._looks.clear()

    def sweep(self) -> None:
        """Delete the expired states of some ids."""
        if not self._has_ttl:
            return
        if not self._ahead:
            self._ahead = list(self._table.data)
        for _ in range(min(_SWEPT, len(self._ahead))):
            id = self._ahead.pop()
            for (typename, name), stored in list(self._table.data.get(id, {}).items()):
                spec = self._specs.get(FunctionType.of(typename), {}).get(name)
                if spec is None or spec.expires == NONE:
                    continue
                if stored[2] == _NEVER:  # written before the state could expire
                    self._table.put(id, (typename, name), (*stored[:2], self._clock()))
                elif stored[2] + spec.ttl_ms <= self._clock():
                    self._table.remove(id, (typename, name))

    def estimated_sizes(self) -> dict[FunctionType, tuple[int, int]]:
        """Number of addresses with state, and bytes of their values, by function type. Each call
        measures only some ids, so the figures are estimates unless there are few ids."""
        total = len(self._table.data)
        if total <= _MEASURED:
            self._looks.clear()
        if not self._unmeasured:
            self._unmeasured = list(self._table.data)
        self._looks.append(self._measured())
        seen = sum(count for count, _, _ in self._looks)
        addresses: Counter[str] = sum((one for _, one, _ in self._looks), Counter())
        sizes: Counter[str] = sum((one for _, _, one in self._looks), Counter())
        share = total / seen if seen else 0.0
        return {
            FunctionType.of(typename): (round(count * share), round(sizes[typename] * share))
            for typename, count in addresses.items()
        }

    def _measured(self) -> tuple[int, Counter[str], Counter[str]]:
        addresses: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        ids = [self._unmeasured.pop() for _ in range(min(_MEASURED, len(self._unmeasured)))]
        for id in ids:
            entries = self._table.data.get(id, {})
            addresses.update({typename for typename, _ in entries})
            for (typename, _), stored in entries.items():
                sizes[typename] += len(stored[1])
        return len(ids), addresses, sizes
