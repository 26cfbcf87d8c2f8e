"""Mailboxes of functions."""

from __future__ import annotations

from millrace.state.nested_table import NestedTable
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
