"""Mailboxes of functions."""

from __future__ import annotations

from types import SimpleNamespace

from millrace.state.nested_table import NestedTable
from millrace.state.serialization.payload import is_plain
from millrace.statefun.address import Address, TypedValue
from millrace.statefun.dispatch.mailboxes import Mailboxes
from millrace.statefun.invocation.batch import RoutableMessage

ADA = Address("example", "greeter", "Ada")


def test_a_batch_has_as_many_bytes_as_a_request_may_have_but_at_least_one_message() -> None:
    mailboxes = Mailboxes(NestedTable(lambda outer, inner: outer))
    messages = [
        RoutableMessage(ADA, TypedValue("t/t", True, bytes([number]) * 1000)) for number in range(9)
    ]
    mailboxes.add(messages)
    assert mailboxes.batch(ADA, 9, 4000) == messages[:3]
    mailboxes.repeat(ADA)
    assert mailboxes.batch(ADA, 2, 4000) == messages[:2]
    mailboxes.repeat(ADA)
    assert mailboxes.batch(ADA, 9, 10) == messages[:1]
    mailboxes.done(ADA)
    assert mailboxes.batch(ADA, 9) == messages[1:]


def test_what_waits_at_a_barrier_is_written_as_plain_tuples() -> None:
    table = NestedTable(lambda outer, inner: outer)
    mailboxes = Mailboxes(table)
    made_by_an_sdk = SimpleNamespace(typename="t/t", has_value=True, value=b"1")
    sent = RoutableMessage(ADA, TypedValue("t/t", True, b"2"), ADA)
    mailboxes.add([((*ADA,), made_by_an_sdk, None), sent])
    mailboxes.write()
    written = [
        ((*ADA,), ("t/t", True, b"1"), None),
        ((*ADA,), ("t/t", True, b"2"), (*ADA,)),
    ]
    assert list(table.data["Ada"].values()) == written
    assert is_plain([table.data])
    again = Mailboxes(table)
    assert again.batch(again.take_ready(), 9) == written
    again.done(ADA)
    assert not table.data
    assert again.waiting == 0
    assert not again.has_ready


def test_a_mailbox_is_written_again_when_messages_follow() -> None:
    table = NestedTable(lambda outer, inner: outer)
    mailboxes = Mailboxes(table)
    values = (TypedValue("t/t", True, value) for value in (b"1", b"2", b"3"))
    first, second, third = (RoutableMessage(ADA, value) for value in values)
    mailboxes.add([first])
    mailboxes.write()
    mailboxes.add([second])
    mailboxes.batch(mailboxes.take_ready(), 1)
    mailboxes.write()
    mailboxes.add([third])
    mailboxes.done(ADA)
    mailboxes.write()
    assert [argument[2] for _, argument, _ in table.data["Ada"].values()] == [b"2", b"3"]
    assert Mailboxes(table).batch(ADA, 9) == [second, third]
