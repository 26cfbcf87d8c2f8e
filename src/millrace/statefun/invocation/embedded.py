"""Functions written with Flink's Python SDK, invoked in the worker without HTTP.

The SDK's objects are used as its own request handler uses them, but messages and states are not
encoded as a request and decoded again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from time import perf_counter
from types import SimpleNamespace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.invocation.batch import (
    EMBEDDED,
    CallAttempt,
    DelayedMessage,
    Effects,
    InvocationError,
    Message,
    MessageBatch,
    PlainAddress,
    StateSpec,
)
from millrace.statefun.protocol import AFTER_INVOKE, AFTER_WRITE, NONE

__all__ = ["EmbeddedFunctions"]

_DEFAULT_BATCH = 1000
_ADDRESSES = 1 << 14
"""Addresses of the SDK that are kept for further invocations."""


class EmbeddedFunctions:
    """Invoker of the SDK's ``StatefulFunctions``.

    Args:
        functions: ``StatefulFunctions``, or the ``RequestReplyHandler`` that serves them.
        max_batch: most messages of a batch.

    Raises:
        JobDefinitionError: the object is none of these.
    """

    def __init__(self, functions: Any, max_batch: int = _DEFAULT_BATCH) -> None:
        functions = getattr(functions, "functions", functions)
        if not hasattr(functions, "for_typename"):
            raise JobDefinitionError(
                f"{functions!r} is not a StatefulFunctions or RequestReplyHandler of the "
                "package 'statefun' (pip install flink-statefun)"
            )
        _make_importable()
        self._functions = functions
        self.max_batch = max_batch
        self.max_bytes: int | None = None
        self.attempts: deque[CallAttempt] = deque()
        self._known: dict[FunctionType, Any] = {}
        self._sdk: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_functions": self._functions, "max_batch": self.max_batch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_functions"], state["max_batch"])  # type: ignore[misc]

    def _function(self, function: FunctionType) -> Any:
        known = self._known.get(function)
        if known is None:
            try:
                known = self._functions.for_typename(str(function))
            except KeyError:
                raise InvocationError(
                    f"there is no embedded function {function}: bind one with this type name"
                ) from None
            self._known[function] = known
        return known

    def is_direct(self, function: FunctionType) -> bool:
        return not self._function(function).is_async

    def place(self, function: FunctionType) -> str:
        return EMBEDDED

    def specs(self, function: FunctionType) -> tuple[StateSpec, ...]:
        return tuple(map(_spec, self._function(function).storage_spec.specs))

    def invoke_now(self, batch: MessageBatch) -> Effects:
        function = self._function(batch.target.function_type)
        context = self._context(function, batch)
        called = function.fun
        for message in self._messages(context, batch):
            called(context, message)
        return _effects(context, batch.target)

    async def invoke(self, batch: MessageBatch) -> Effects:
        function = self._function(batch.target.function_type)
        context = self._context(function, batch)
        began = perf_counter()
        for message in self._messages(context, batch, may_wait=True):
            await function.fun(context, message)
        taken = (perf_counter() - began) * 1000
        self.attempts.append(CallAttempt(batch.target, taken, False))
        return _effects(context, batch.target)

    def retire(self) -> None:
        """Do nothing: there is no endpoint."""

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def _context(self, function: Any, batch: MessageBatch) -> Any:
        sdk = self._sdk
        if sdk is None:
            sdk = self._sdk = _sdk()
        target, spec, states = batch.target, function.storage_spec, batch.states
        cells = {}
        for declared in spec.specs:
            value = states.get(declared.name)
            held = sdk.typed_value(*value) if value is not None and value.has_value else None
            # a state without a value is an empty message in the SDK's requests
            cells[declared.name] = sdk.cell(declared.type, held or sdk.nothing)
        address = sdk.addresses[target]
        return sdk.context(address, spec.make_instance(cells, address.typename))

    def _messages(self, context: Any, batch: MessageBatch, may_wait: bool = False) -> Iterator[Any]:
        """Messages of the SDK, each with the caller in the context.

        Args:
            may_wait: whether an epoch can end during the invocation. Its mailbox is written then,
                so what the function does to a value must not reach the mailbox.
        """
        sdk, id, typename = self._sdk, batch.target.id, context._self_address.typename
        addresses, new, typed_value = sdk.addresses, sdk.message, sdk.typed_value
        for _, argument, caller in batch.messages:
            context._caller = None if caller is None else addresses[caller]
            if isinstance(argument, tuple):
                value = typed_value(*argument)
            else:
                value = _copy(argument) if may_wait else argument
            yield new(typename, id, value)


def _make_importable() -> None:
    """Name the right modules in the SDK's message classes, so that they are pickled by reference.
    The SDK's generated modules give names without the package."""
    for name in ("types_pb2", "request_reply_pb2", "kafka_egress_pb2", "kinesis_egress_pb2"):
        module = import_module(f"statefun.{name}")
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == name:
                value.__module__ = module.__name__


class _Addresses(dict[PlainAddress, Any]):
    """Cache of the SDK's addresses by plain addresses. Addresses of the SDK are immutable, so that
    invocations can share them.
    """

    def __init__(self, make: Any) -> None:
        self._make = make

    def __missing__(self, address: PlainAddress) -> Any:
        if len(self) >= _ADDRESSES:
            self.clear()
        namespace, name, id = address
        made = self[address] = self._make(namespace, name, id, f"{namespace}/{name}")
        return made


def _sdk() -> SimpleNamespace:
    """Classes of the SDK."""
    from statefun.core import SdkAddress
    from statefun.messages import Message
    from statefun.request_reply_pb2 import TypedValue as SdkTypedValue
    from statefun.request_reply_v3 import UserFacingContext
    from statefun.storage import Cell

    def typed_value(typename: str, has_value: bool, value: bytes) -> Any:
        return SdkTypedValue(typename=typename, has_value=has_value, value=value)

    return SimpleNamespace(
        addresses=_Addresses(SdkAddress),
        message=Message,
        typed_value=typed_value,
        context=UserFacingContext,
        cell=Cell,
        nothing=SdkTypedValue(),
    )


def _spec(declared: Any) -> StateSpec:
    expires = NONE
    if declared.after_call:
        expires = AFTER_INVOKE
    elif declared.after_write:
        expires = AFTER_WRITE
    ttl = declared.duration if expires else 0
    return StateSpec(declared.name, declared.type.typename, expires, ttl)


def _value(value: Any) -> TypedValue:
    return TypedValue(value.typename, value.has_value, value.value)


@lru_cache(4096)
def _names(typename: str) -> tuple[str, str]:
    """Namespace and name in a type name of the SDK."""
    namespace, _, name = typename.rpartition("/")
    return namespace, name


def _copy(value: Any) -> Any:
    """Copy of a value of the SDK, as the request to another process would have one: a function may
    fill a value anew after it sent it, or change one that it received."""
    copy = value.__class__()
    copy.CopyFrom(value)
    return copy


def _message(message: Any, caller: PlainAddress) -> Message:
    namespace, name = _names(message.target_typename)
    return (namespace, name, message.target_id), _copy(message.typed_value), caller


def _effects(context: Any, sender: Address) -> Effects:
    """Effects that the SDK's context has collected."""
    effects, caller = Effects(), (*sender,)
    for name, cell in context._storage._cells.items():
        if cell.dirty:
            value = cell.typed_value
            effects.mutations[name] = None if value is None else _value(value)
    effects.messages = [_message(message, caller) for message in context._outgoing_messages]
    for later in context._outgoing_delayed_messages:
        if later.is_cancellation:
            effects.delayed.append(DelayedMessage(None, 0, later.cancellation_token))
        else:
            sent = _message(later.message, caller)
            effects.delayed.append(
                DelayedMessage(sent, later.duration, later.cancellation_token or "")
            )
    for message in context._outgoing_egress_messages:
        egress = FunctionType(*_names(message.typename))
        effects.egresses.append((egress, _value(message.typed_value)))
    return effects
