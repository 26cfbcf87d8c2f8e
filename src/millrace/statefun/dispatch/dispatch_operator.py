"""Operator of Stateful Functions: receives messages, invokes functions, and applies the effects
that they return.

Messages are partitioned by the id of their target. For each address at most one batch is in
flight; what arrives meanwhile waits in the mailbox of the address and goes as one batch. A message
to an id of the same subtask stays in memory. Others are emitted, and come round a loop with an
exchange by id. Waiting messages, messages in flight, delayed messages and states are keyed state.
The effects of a batch become visible together, in the epoch in which its reply arrives: if the
epoch is undone, the batch is invoked again.

Semantics: Flink docs, "Stateful Functions".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from time import perf_counter
from typing import Any

from millrace.common.errors import MillraceError, SerializationError, StateError
from millrace.common.functions.async_functions import AsyncRetryStrategy
from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.batch import RowBatch
from millrace.runtime.async_requests import AsyncRequests, CompletedRequest
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.epoch import Ack, EpochContext, QueryableState
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.key_groups import KeyMemo, subtask_of
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_id import TableId
from millrace.state.table_kinds import MAP
from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.dispatch.delayed_messages import DelayedMessages
from millrace.statefun.dispatch.endpoint_list import (
    decode_endpoints,
    encode_endpoints,
    same_endpoints,
)
from millrace.statefun.dispatch.function_metrics import DispatchMetrics
from millrace.statefun.dispatch.function_repository import FunctionRepository, Functions
from millrace.statefun.dispatch.function_states import FunctionStates
from millrace.statefun.dispatch.mailboxes import Mailboxes
from millrace.statefun.invocation.batch import (
    EMBEDDED,
    EndpointMoved,
    InvocationError,
    Invoker,
    Message,
    MessageBatch,
    MissingStates,
    PlainMessage,
    Reply,
    plain,
)

__all__ = ["QUERYABLE_STATES", "DispatchOperator", "egress_tag"]

QUERYABLE_STATES = "functions"
"""Name under which clients query the states of all functions of an id."""
_STATES = "states"

IDLE_WAIT_SECONDS = 0.02
"""Seconds that an epoch without messages waits for a reply, if replies do not wake the loop."""
_WAKE_UP_MS = 10
"""Milliseconds until the next wake-up while a batch is in flight, if replies do not wake the loop.
"""
_TURN = 10_000
"""Most invocations in the worker until the subtask gives way to other work."""

_CALLER = itemgetter(2)
"""Caller of a message as plain tuples."""


def _last(lists: list[Any]) -> Any:
    return lists[-1]  # all subtasks have the same


_ENDPOINTS = OperatorStateDeclaration("endpoints", RedistributionMode.MERGE, _last)
"""Endpoints of the program that was given others while it ran, and the endpoints that count."""


def egress_tag(egress: FunctionType) -> OutputTag[TypedValue]:
    """Tag of an egress' records."""
    return OutputTag(str(egress))


@dataclass(frozen=True)
class DispatchSpec:
    """Settings of a dispatcher.

    Attributes:
        max_in_flight: most batches in flight per subtask.
        converters: functions that make records of the values for an egress. An egress without one
            takes the values as they are.
    """

    functions: Functions
    egresses: tuple[FunctionType, ...]
    max_in_flight: int = 1024
    converters: Mapping[FunctionType, Callable[[TypedValue], Any]] = field(default_factory=dict)


class DispatchOperator(Operator):
    """Invokes functions with the messages of one subtask. A message that is a list of endpoints
    replaces the endpoints (see `millrace.statefun.dispatch.endpoint_list`).
    """

    operator_states = (_ENDPOINTS,)
    message_check = staticmethod(decode_endpoints)

    def __init__(self, spec: DispatchSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        state, uid, clock = self.context.state, self.context.uid, self.context.clock
        self._states = FunctionStates(state.table(TableId(uid, _STATES), MAP), clock)
        self._mailboxes = Mailboxes(state.table(TableId(uid, "mailboxes"), MAP))
        self._delayed = DelayedMessages(state.table(TableId(uid, "delayed"), MAP))
        self._egresses = {egress: egress_tag(egress) for egress in self._spec.egresses}
        self._functions = FunctionRepository(self._spec.functions)
        self._given_endpoints = DeclaredValue(self, _ENDPOINTS)
        self._own_endpoints = encode_endpoints(self._functions.endpoints)
        self._is_announced = False
        """Whether the job knows of the queryable states."""
        self._requests: AsyncRequests | None = None
        self._in_flight: dict[int, MessageBatch] = {}
        self._next_request = 0
        self._is_local = KeyMemo(self.context.max_parallelism, self._is_of_this_subtask)
        """Whether the state of an id is here."""
        self._outgoing: list[PlainMessage] = []
        self._egressed: dict[FunctionType, list[Any]] = {}
        self._messages_in_epoch = 0
        self._metrics = DispatchMetrics(self.context.metrics, self._functions.invoker, clock)

    def _is_of_this_subtask(self, group: int) -> bool:
        context = self.context
        subtask = subtask_of(group, context.parallelism, context.max_parallelism)
        return subtask == context.subtask_index

    def restore(self) -> None:
        if self._requests is not None:
            self._requests.cancel_all()
        self._in_flight.clear()
        self._outgoing.clear()
        self._egressed.clear()
        self._states.forget_specs()
        self._mailboxes.refresh()
        self._delayed.refresh()
        own, counting = self._given_endpoints.get((self._own_endpoints, self._own_endpoints))
        self._is_superseded = not same_endpoints(own, self._own_endpoints)
        if self._is_superseded:  # the program has changed, and its endpoints count
            counting = self._own_endpoints
        self._functions.replace_endpoints(decode_endpoints(counting))

    def close(self) -> None:
        if self._requests is None:
            self._functions.close()
        else:
            self._requests.call(self._functions.close)
            self._requests.close()

    # -- input -------------------------------------------------------------------------------

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._messages_in_epoch = 0
        given = epoch.messages.get(self.context.uid)
        if given is not None:
            self._functions.replace_endpoints(decode_endpoints(given))
            self._given_endpoints.put((self._own_endpoints, given))
        elif self._is_superseded:  # for good, even if a later program has the former endpoints
            self._given_endpoints.put((self._own_endpoints, self._own_endpoints))
        self._is_superseded = False
        self._work()

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._messages_in_epoch += len(values)
        self._metrics.fed_back.count += len(values) - list(map(_CALLER, values)).count(None)
        self._mailboxes.add(values)
        self._work()

    def advance_processing_time(self, now: int) -> None:
        self._send(self._delayed.due(now))
        self._work()

    def end_epoch(self, ended: bool) -> None:
        is_busy = self._messages_in_epoch or self.context.waker.is_heard
        if self._in_flight and not is_busy:
            self._collect(IDLE_WAIT_SECONDS)
            self._work()
        self._states.sweep()
        self._mailboxes.write()
        self._metrics.take_attempts(self._functions.invokers)
        self._metrics.look(self._mailboxes, self._in_flight.values(), self._states)

    def output_idle(self, input_idle: bool) -> bool:
        return input_idle and not self._mailboxes.waiting

    def room(self) -> int | None:
        return max(0, self._spec.max_in_flight * 16 - self._mailboxes.waiting)

    def next_wakeup(self) -> int | None:
        now = self.context.clock()
        if self._mailboxes.has_ready and len(self._in_flight) < self._spec.max_in_flight:
            return now
        at = self._delayed.earliest()
        if self._in_flight and not self.context.waker.is_heard:
            reply = now + _WAKE_UP_MS
            at = reply if at is None else min(at, reply)
        return at

    def contribute(self, ack: Ack) -> None:
        super().contribute(ack)
        if not self._is_announced:
            self._is_announced = True
            table = TableId(self.context.uid, _STATES)
            ack.queryable.append(QueryableState(table, QUERYABLE_STATES, "map"))
        if self._mailboxes.waiting:
            ack.loops.waits_for_requests = True

    # -- invocations -------------------------------------------------------------------------

    def _work(self) -> None:
        """Take replies, and invoke the functions of mailboxes with messages."""
        self._collect(0.0)
        started: list[tuple[int, tuple[Invoker, MessageBatch]]] = []
        invocations = 0
        while self._mailboxes.has_ready and invocations < _TURN:
            if len(self._in_flight) >= self._spec.max_in_flight:
                break
            target = self._mailboxes.take_ready()
            invoker = self._invoker(target)
            batch = self._batch(target, invoker)
            if invoker.is_direct(target.function_type):
                invocations += len(batch.messages)
                began = perf_counter()
                reply = self._invoked(invoker, batch)
                self._metrics.of(target).latency.update((perf_counter() - began) * 1000)
                self._take_reply(batch, reply)
            else:
                self._next_request += 1
                self._in_flight[self._next_request] = batch
                started.append((self._next_request, (invoker, batch)))
        if started:
            self._require_requests().start(started)
        if invocations >= _TURN:
            self.context.waker.wake()
        self._emit()

    def _invoker(self, target: Address) -> Invoker:
        """Invoker of an address with messages.

        Raises:
            InvocationError: there is none. The text names the sender.
        """
        try:
            return self._functions.invoker(target)
        except InvocationError as error:
            sender = self._mailboxes.sender(target)
            sent = "an ingress" if sender is None else f"function {Address(*sender)}"
            raise InvocationError(f"{error}; the message is from {sent}") from None

    def _batch(self, target: Address, invoker: Invoker) -> MessageBatch:
        function = target.function_type
        if not self._states.known(function):
            self._states.register(function, invoker.specs(function))
        states, room = self._states.read(target), invoker.max_bytes
        if room is not None:
            room -= sum(len(state.value) for state in states.values())
        messages = self._mailboxes.batch(target, invoker.max_batch, room)
        return MessageBatch(target, states, messages)

    def _invoked(self, invoker: Invoker, batch: MessageBatch) -> Reply:
        try:
            return invoker.invoke_now(batch)
        except MillraceError:
            raise
        except Exception as error:
            raise _failure(batch, error) from error

    def _require_requests(self) -> AsyncRequests:
        if self._requests is None:
            wake = self.context.waker.wake
            retry = AsyncRetryStrategy.no_restart()
            # no timeout: each invoker has its own
            self._requests = AsyncRequests(self._invoke, None, retry, wake)
        return self._requests

    async def _invoke(self, request: tuple[Invoker, MessageBatch]) -> list[Reply]:
        invoker, batch = request
        return [await invoker.invoke(batch)]

    def _collect(self, wait: float) -> None:
        """Carry out the replies that have arrived. Waits up to ``wait`` seconds for one."""
        if self._requests is None or not self._in_flight:
            return
        for done in self._requests.ended(wait):
            batch = self._in_flight.pop(done.number)
            if isinstance(done.error, EndpointMoved):
                self._mailboxes.repeat(batch.target)
            else:
                self._take_reply(batch, _reply(batch, done))

    # -- effects -----------------------------------------------------------------------------

    def _take_reply(self, batch: MessageBatch, reply: Reply) -> None:
        """Carry out the effects of a batch.

        Raises:
            StateError, InvocationError: an effect is impossible. The text names function, address
                and endpoint.
        """
        try:
            self._carry_out(batch, reply)
        except (StateError, InvocationError) as error:
            cause = error.__cause__  # what the user's code raised
            with suppress(InvocationError):  # an update may have taken the endpoint away
                place = self._functions.invoker(batch.target).place(batch.target.function_type)
                where = "in the worker" if place == EMBEDDED else f"at {place}"
                error = type(error)(f"{error} (function {batch.target} {where})")
            raise error from cause

    def _carry_out(self, batch: MessageBatch, reply: Reply) -> None:
        target = batch.target
        if isinstance(reply, MissingStates):
            self._states.register(target.function_type, reply.specs)
            # a batch of another address may have registered the states meanwhile
            if batch.states.keys() >= {spec.name for spec in reply.specs}:
                names = ", ".join(spec.name for spec in reply.specs) or "none"
                raise InvocationError(
                    f"function {target} requests states that its request already contained: {names}"
                )
            self._mailboxes.repeat(target)
            return
        self._states.change(target, reply.mutations)
        outgoing = len(self._outgoing)
        self._send(reply.messages)
        remote = len(self._outgoing) - outgoing
        metrics = self._metrics.of(target)
        metrics.incoming.count += len(batch.messages)
        metrics.sent(len(reply.messages) - remote, remote, len(reply.egresses))
        if reply.delayed:
            now = self.context.clock()
            for delayed in reply.delayed:
                self._delayed.add(target.id, delayed, now)
        for egress, value in reply.egresses:
            if egress not in self._egresses:
                known = ", ".join(map(str, self._egresses)) or "none"
                raise InvocationError(
                    f"function {target} wrote to the egress {egress}, which does not exist; "
                    f"known are: {known}"
                )
            convert = self._spec.converters.get(egress)
            record = value if convert is None else _converted(convert, value, egress)
            self._egressed.setdefault(egress, []).append(record)
        self._mailboxes.done(target)

    def _send(self, messages: Sequence[Message]) -> None:
        """Put messages into mailboxes here, and note those to other subtasks."""
        is_local = self._is_local
        here = [message for message in messages if is_local[message[0][2]]]
        if here:
            self._mailboxes.add(here)
        if len(here) < len(messages):
            self._outgoing += [plain(m) for m in messages if not is_local[m[0][2]]]

    def _emit(self) -> None:
        if self._outgoing:
            outgoing, self._outgoing = self._outgoing, []
            self.output.emit(RowBatch(outgoing, None))
        if self._egressed:
            egressed, self._egressed = self._egressed, {}
            for egress, values in egressed.items():
                self.side_output(self._egresses[egress]).emit(RowBatch(values, None))


def _converted(
    convert: Callable[[TypedValue], Any], value: TypedValue, egress: FunctionType
) -> Any:
    try:
        return convert(value)
    except SerializationError as error:
        raise InvocationError(f"egress {egress}: {error}") from None
    except Exception as error:
        reason = f"the conversion of a record raised {type(error).__name__}: {error}"
        raise InvocationError(f"egress {egress}: {reason}") from error


def _reply(batch: MessageBatch, done: CompletedRequest) -> Reply:
    if done.error is None:
        results: Sequence[Any] = list(done.results or ())
        reply: Reply = results[0]
        return reply
    if isinstance(done.error, MillraceError):
        raise done.error
    raise _failure(batch, done.error) from done.error


def _failure(batch: MessageBatch, error: BaseException) -> InvocationError:
    reason = f"{type(error).__name__}: {error}"
    return InvocationError(f"function {batch.target} raised {reason}")
