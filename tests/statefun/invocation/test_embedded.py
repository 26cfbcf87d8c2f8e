"""Functions that are invoked in the worker, with values of the SDK that they change."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from millrace.state.nested_table import NestedTable
from millrace.statefun.address import Address
from millrace.statefun.dispatch.mailboxes import Mailboxes
from millrace.statefun.invocation.batch import Message, MessageBatch, plain
from millrace.statefun.invocation.embedded import EmbeddedFunctions

pytest.importorskip("statefun")
SENDER, SINK = Address("test", "sender", "1"), Address("test", "sink", "1")


@pytest.fixture
def functions() -> Any:
    from statefun import StatefulFunctions

    return StatefulFunctions()


def batch(target: Address, *messages: Message) -> MessageBatch:
    return MessageBatch(target, {}, list(messages))


def message(value: bytes) -> Message:
    return (*SENDER,), ("test/bytes", True, value), None


def test_a_message_stays_as_it_was_sent_when_the_sender_fills_its_value_anew(
    functions: Any,
) -> None:
    from statefun.messages import Message as SdkMessage
    from statefun.request_reply_pb2 import TypedValue as SdkValue

    kept = SdkValue(typename="test/bytes", has_value=True)

    @functions.bind("test/sender")
    def sender(context: Any, message: Any) -> None:
        kept.value = message.raw_value()
        context.send(SdkMessage("test/sink", "1", kept))

    invoker, mailboxes = EmbeddedFunctions(functions), Mailboxes(NestedTable(lambda _, key: key))
    for value in (b"a", b"b"):
        mailboxes.add(invoker.invoke_now(batch(SENDER, message(value))).messages)
    waiting = mailboxes.batch(SINK, 10)
    assert [plain(one)[1][2] for one in waiting] == [b"a", b"b"]


def test_a_receiver_changes_its_own_copy_of_a_value(functions: Any) -> None:
    from statefun.messages import Message as SdkMessage

    received = []

    @functions.bind("test/sender")
    def sender(context: Any, message: Any) -> None:
        for receiver in ("1", "2"):
            context.send(SdkMessage("test/sink", receiver, message.typed_value))

    @functions.bind("test/sink")
    def sink(context: Any, message: Any) -> None:
        received.append(message.raw_value())
        message.typed_value.value = b"changed"

    invoker = EmbeddedFunctions(functions)
    for sent in invoker.invoke_now(batch(SENDER, message(b"original"))).messages:
        invoker.invoke_now(batch(Address(*sent[0]), sent))
    assert received == [b"original", b"original"]


def test_a_mailbox_that_is_written_during_an_invocation_has_the_values_that_were_sent(
    functions: Any,
) -> None:
    table = NestedTable(lambda _, key: key)
    mailboxes = Mailboxes(table)
    from statefun.messages import Message as SdkMessage

    @functions.bind("test/sender")
    def sender(context: Any, message: Any) -> None:
        context.send(SdkMessage("test/sink", "1", message.typed_value))

    @functions.bind("test/sink")
    async def sink(context: Any, message: Any) -> None:
        message.typed_value.value = b"changed"
        mailboxes.write()  # as at the end of an epoch, which does not wait for the function

    invoker = EmbeddedFunctions(functions)
    mailboxes.add(invoker.invoke_now(batch(SENDER, message(b"original"))).messages)
    asyncio.run(invoker.invoke(batch(SINK, *mailboxes.batch(SINK, 10))))
    assert [stored[1][2] for stored in table.data["1"].values()] == [b"original"]
