"""A batch of messages for one address, and the effects of its invocation."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from millrace.common.errors import JobExecutionError
from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.protocol import NONE

__all__ = [
    "Argument",
    "CallAttempt",
    "DelayedMessage",
    "EMBEDDED",
    "Effects",
    "EndpointMoved",
    "InvocationError",
    "Invoker",
    "Message",
    "MessageBatch",
    "MissingStates",
    "PlainAddress",
    "PlainMessage",
    "PlainValue",
    "Reply",
    "RoutableMessage",
    "StateSpec",
    "plain",
    "plain_value",
]


EMBEDDED = "embedded"
"""Place of functions that run in the worker."""


class InvocationError(JobExecutionError):
    """An invocation failed and is not repeated. The text names function, address and endpoint."""


class EndpointMoved(Exception):
    """An invocation failed at an endpoint that has been replaced since it began."""


class RoutableMessage(NamedTuple):
    """A message to a function.

    Attributes:
        caller: address of the function that sent the message; None for a message from an ingress.
    """

    target: Address
    argument: TypedValue
    caller: Address | None = None


class HeldValue(Protocol):
    """Value that an SDK made in this process. It is encoded when it leaves the process."""

    @property
    def typename(self) -> str:
        """Name of the value's type."""

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""

    @property
    def value(self) -> bytes:
        """The value as bytes."""


PlainAddress: TypeAlias = tuple[str, str, str]
PlainValue: TypeAlias = tuple[str, bool, bytes]
PlainMessage: TypeAlias = tuple[PlainAddress, PlainValue, PlainAddress | None]
"""Message as plain tuples, which exchanges, state and savepoints encode without pickle."""
Argument: TypeAlias = PlainValue | HeldValue
Message: TypeAlias = tuple[PlainAddress, Argument, PlainAddress | None]
"""Message in a dispatcher: target, argument and caller. It is a plain one, a `RoutableMessage`, or
has a value that an SDK made. Only a plain one leaves the process."""


def plain_value(value: Argument) -> PlainValue:
    """A typed value as a plain tuple."""
    if isinstance(value, tuple):
        return value if type(value) is tuple else (*value,)
    return value.typename, value.has_value, value.value


def plain(message: Message) -> PlainMessage:
    """A message as nested plain tuples."""
    target, argument, caller = message
    return (*target,), plain_value(argument), None if caller is None else (*caller,)


class StateSpec(NamedTuple):
    """A state of a function type.

    Attributes:
        expires: mode of the protocol: never, after its last write, or after its last invocation.
        ttl_ms: time to live in milliseconds.
    """

    name: str
    typename: str
    expires: int = NONE
    ttl_ms: int = 0


class MessageBatch(NamedTuple):
    """Messages for one address, with the known states of the address by name."""

    target: Address
    states: dict[str, TypedValue]
    messages: Sequence[Message]


class DelayedMessage(NamedTuple):
    """A message to send later, or the cancellation of one if ``message`` is None."""

    message: Message | None
    delay_ms: int
    token: str


@dataclass(slots=True)
class Effects:
    """Effects of an invoked batch, in the order in which the function caused them.

    Attributes:
        mutations: states to set by name; None deletes the state.
    """

    mutations: dict[str, TypedValue | None] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    delayed: list[DelayedMessage] = field(default_factory=list)
    egresses: list[tuple[FunctionType, TypedValue]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MissingStates:
    """Reply of a function that needs states which the request does not contain. The function has
    not run."""

    specs: tuple[StateSpec, ...]


Reply: TypeAlias = Effects | MissingStates


class CallAttempt(NamedTuple):
    """An attempt to invoke a function on an event loop."""

    target: Address
    milliseconds: float
    has_failed: bool


class Invoker(Protocol):
    """Invokes the functions of one endpoint or one SDK object."""

    attempts: deque[CallAttempt]
    """Attempts on an event loop that no metric has counted yet."""

    max_batch: int
    """Most messages of a batch."""
    max_bytes: int | None
    """Most bytes of the messages and states of a batch of several messages. None if there is no
    limit."""

    def is_direct(self, function: FunctionType) -> bool:
        """Whether the function runs in the caller's thread, with `invoke_now`."""

    def place(self, function: FunctionType) -> str:
        """URL of the function, or `EMBEDDED`."""

    def specs(self, function: FunctionType) -> tuple[StateSpec, ...]:
        """States of a function that are known without an invocation."""

    def invoke_now(self, batch: MessageBatch) -> Reply:
        """Invoke a function in this thread."""

    async def invoke(self, batch: MessageBatch) -> Reply:
        """Invoke a function on an event loop."""

    def retire(self) -> None:
        """Record that another invoker has taken over. Invocations in flight may raise
        `EndpointMoved` instead of failing. Called in any thread."""

    def close(self) -> None:
        """Release connections. Called on the event loop if an invocation has run there."""
