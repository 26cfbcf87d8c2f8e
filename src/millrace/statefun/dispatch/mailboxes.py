"""Messages that wait for their functions, in one mailbox per address."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice

from millrace.state.nested_table import NestedTable
from millrace.statefun.address import Address
from millrace.statefun.invocation.batch import Message, PlainAddress, plain, plain_value

__all__ = ["Mailboxes"]

_OVERHEAD = 256
"""Bytes of a message in a request beside its argument, as addresses and names usually have."""


class _Mailbox:
    """Messages of one address, in the order of their arrival; never empty."""

    __slots__ = ("in_flight", "is_written", "messages", "numbers")

    def __init__(self) -> None:
        self.messages: deque[Message] = deque()
        self.numbers: deque[int] = deque()
        """Numbers in the table of the first messages, which earlier epochs have written."""
        self.in_flight = 0
        """Number of the first messages that are being handled."""
        self.is_written = False
        """Whether the table has all messages."""


class Mailboxes:
    """Waiting messages of a subtask, including messages whose function is being invoked.

    A message stays here until its effects are known. The table has what waits when an epoch ends,
    so after a restore batches in flight are handled again.

    Args:
        table: map state by the target's id. Its inner keys are numbers, its values the
            messages as plain tuples.
    """

    def __init__(self, table: NestedTable) -> None:
        self._table = table
        self.refresh()

    def refresh(self) -> None:
        """Build the mailboxes again from the table, because the table was replaced."""
        self._boxes: dict[PlainAddress, _Mailbox] = {}
        self._ready: deque[PlainAddress] = deque()
        """Addresses with messages and none in flight."""
        self._unwritten: dict[PlainAddress, _Mailbox] = {}
        """Mailboxes with messages that are not in the table."""
        self.waiting = 0
        """Number of messages, those in flight included."""
        stored = sorted(
            (number, message)
            for entries in self._table.data.values()
            for number, message in entries.items()
        )
        self._next_number = stored[-1][0] + 1 if stored else 0
        self.add(message for _, message in stored)
        self._unwritten.clear()
        for number, message in stored:
            self._boxes[message[0]].numbers.append(number)
        for box in self._boxes.values():
            box.is_written = True

    def add(self, messages: Iterable[Message]) -> None:
        """Put messages into the mailboxes of their targets."""
        boxes, count = self._boxes, 0
        for message in messages:
            count += 1
            target = message[0]
            box = boxes.get(target)
            if box is None:
                box = boxes[target] = self._unwritten[target] = _Mailbox()
                self._ready.append(target)
            elif box.is_written:
                box.is_written = False
                self._unwritten[target] = box
            box.messages.append(message)
        self.waiting += count

    @property
    def has_ready(self) -> bool:
        """Whether there is a batch that can be handled now."""
        return bool(self._ready)

    def take_ready(self) -> Address:
        """Take the address that has been ready longest. There must be one: see `has_ready`."""
        return Address(*self._ready.popleft())

    def sender(self, target: Address) -> PlainAddress | None:
        """Sender of the first message that waits for a target; None if the message has no
        sender."""
        return self._boxes[target].messages[0][2]

    def batch(self, target: Address, most: int, most_bytes: int | None = None) -> list[Message]:
        """The first messages of an address as a batch, which is in flight from now on.

        Args:
            most_bytes: bytes of all their arguments; one message may have more. None if there is no
                limit.
        """
        box = self._boxes[target]
        waiting = box.messages
        messages = list(waiting) if len(waiting) <= most else list(islice(waiting, most))
        if most_bytes is not None:
            ends = accumulate(len(plain_value(given)[2]) + _OVERHEAD for _, given, _ in messages)
            fitting = sum(1 for end in ends if end <= most_bytes)
            messages = messages[: max(1, fitting)]
        box.in_flight = len(messages)
        return messages

    def done(self, target: Address) -> None:
        """Remove the messages in flight. The address is ready again if messages are left."""
        box = self._boxes[target]
        count, messages, numbers = box.in_flight, box.messages, box.numbers
        for _ in range(min(count, len(numbers))):
            self._table.remove(target.id, numbers.popleft())
        self.waiting -= count
        if count == len(messages):
            del self._boxes[target]
            if not box.is_written:
                del self._unwritten[target]
            return
        for _ in range(count):
            messages.popleft()
        box.in_flight = 0
        self._ready.append(target)

    def repeat(self, target: Address) -> None:
        """Put the messages in flight back, so that they are handled again before other messages
        of the address."""
        self._boxes[target].in_flight = 0
        self._ready.appendleft(target)

    def write(self) -> None:
        """Write the waiting messages that the table does not have yet."""
        for target, box in self._unwritten.items():
            for message in islice(box.messages, len(box.numbers), None):
                self._table.put(target[2], self._next_number, plain(message))
                box.numbers.append(self._next_number)
                self._next_number += 1
            box.is_written = True
        self._unwritten.clear()

    def backlogs(self) -> Iterator[tuple[PlainAddress, int]]:
        """Addresses with the number of their messages that are not in flight."""
        for target, box in self._boxes.items():
            yield target, len(box.messages) - box.in_flight
