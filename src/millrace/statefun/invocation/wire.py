"""Batches and replies as bytes of the request-reply protocol."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.invocation.batch import (
    DelayedMessage,
    Effects,
    MessageBatch,
    MissingStates,
    PlainAddress,
    PlainMessage,
    PlainValue,
    Reply,
    StateSpec,
    plain_value,
)
from millrace.statefun.protocol import (
    AFTER_INVOKE,
    AFTER_WRITE,
    DELETE,
    MODIFY,
    NONE,
    FromFunction,
    ToFunction,
)

__all__ = ["MalformedReply", "read_reply", "request_bytes"]


class MalformedReply(ValueError):
    """The bytes of a reply violate the request-reply protocol."""


def request_bytes(batch: MessageBatch) -> bytes:
    """Encode the request for a batch of messages."""
    request = ToFunction()
    invocation = request.invocation
    _put_address(invocation.target, batch.target)
    for name, value in batch.states.items():
        state = invocation.state.add()
        state.state_name = name
        if value.has_value:
            _put_value(state.state_value, value)
    for _, argument, caller in batch.messages:
        added = invocation.invocations.add()
        if caller is not None:
            _put_address(added.caller, caller)
        _put_value(added.argument, plain_value(argument))
    content: bytes = request.SerializeToString()
    return content


def _put_address(target: Any, address: PlainAddress) -> None:
    target.namespace, target.type, target.id = address


def _put_value(target: Any, value: PlainValue) -> None:
    target.typename, target.has_value, target.value = value


def read_reply(content: bytes, sender: Address) -> Reply:
    """The reply that bytes encode. A reply without content has no effects.

    Raises:
        MalformedReply: the bytes are of something else, or a part of them has no meaning.
    """
    try:
        reply = FromFunction.FromString(content)
    except DecodeError as error:
        raise MalformedReply(
            f"{len(content)} bytes are not a reply of a function: {error}"
        ) from None
    if reply.WhichOneof("content") == "incomplete_invocation_context":
        missing = reply.incomplete_invocation_context.missing_values
        return MissingStates(tuple(map(_spec, missing)))
    result = reply.invocation_result
    caller = (*sender,)
    return Effects(
        {mutation.state_name: _mutated(mutation) for mutation in result.state_mutations},
        [_message(sent, caller) for sent in result.outgoing_messages],
        [_delayed(sent, caller) for sent in result.delayed_invocations],
        [
            (FunctionType(sent.egress_namespace, sent.egress_type), _value(sent.argument))
            for sent in result.outgoing_egresses
        ],
    )


def _mutated(mutation: Any) -> TypedValue | None:
    if mutation.mutation_type == DELETE:
        return None
    if mutation.mutation_type != MODIFY:
        raise MalformedReply(
            f"the state '{mutation.state_name}' has a mutation of the unknown type "
            f"{mutation.mutation_type}"
        )
    return _value(mutation.state_value)


def _value(value: Any) -> TypedValue:
    return TypedValue(value.typename, value.has_value, value.value)


def _message(sent: Any, caller: PlainAddress) -> PlainMessage:
    target, argument = sent.target, sent.argument
    namespace, name = target.namespace, target.type
    if not namespace or not name:
        raise MalformedReply("a message has no target")
    value = argument.typename, argument.has_value, argument.value
    return (namespace, name, target.id), value, caller


def _delayed(sent: Any, caller: PlainAddress) -> DelayedMessage:
    if sent.is_cancellation_request:
        if not sent.cancellation_token:
            raise MalformedReply("a cancellation has no token")
        return DelayedMessage(None, 0, sent.cancellation_token)
    if sent.delay_in_ms < 0:
        raise MalformedReply(f"a message has the delay {sent.delay_in_ms} ms")
    return DelayedMessage(_message(sent, caller), sent.delay_in_ms, sent.cancellation_token)


def _spec(missing: Any) -> StateSpec:
    expiration = missing.expiration_spec
    if expiration.mode not in (NONE, AFTER_WRITE, AFTER_INVOKE):
        raise MalformedReply(
            f"the state '{missing.state_name}' expires in the unknown mode {expiration.mode}"
        )
    if expiration.mode != NONE and expiration.expire_after_millis < 0:
        raise MalformedReply(
            f"the state '{missing.state_name}' has the time to live "
            f"{expiration.expire_after_millis} ms"
        )
    return StateSpec(
        missing.state_name,
        missing.type_typename,
        expiration.mode,
        expiration.expire_after_millis,
    )
