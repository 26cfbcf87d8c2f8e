"""Messages that wait for their functions, in one mailbox per address."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import accumulate, islice

from millrace.state.nested_table import NestedTable
from millrace.statefun.address import Address
from millrace.statefun.invocation.batch import RoutableMessage, message_of, plain

__all__ = ["Mailboxes"]

_OVERHEAD = 256
"""Bytes of a message in a request beside its argument, as addresses and names usually have."""


class _Mailbox:
    """Messages of one address, in the order of their arrival."""

    __slots__ = ("in_flight", "messages", "numbers")

    def __init__(self) -> None:
        self.messages: deque[RoutableMessage] = deque()
        self.numbers: deque[int] = deque()
        """Numbers in the table of the first messages, which earlier epochs have written."""
        self.in_flight = 0
        """Number of the first messages that are being handled."""


class Mailboxes:
    """Waiting messages of a subtask, those in flight included.

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
        """Derive the mailboxes from the table, which was replaced."""
        self._boxes: dict[Address, _Mailbox] = {}
        self._ready: deque[Address] = deque()
        """Addresses with messages and none in flight."""
        self._unwritten: set[Address] = set()
        self.waiting = 0
        """Number of messages, those in flight included."""
        stored = sorted(
            (number, message_of(message))
            for entries in self._table.data.values()
            for number, message in entries.items()
        )
        self._next_number = stored[-1][0] + 1 if stored else 0
        for number, message in stored:
            self._box(message.target).numbers.append(number)
            self.add(message)
        self._unwritten.clear()

    def _box(self, address: Address) -> _Mailbox:
        box = self._boxes.get(address)
        if box is None:
            box = self._boxes[address] = _Mailbox()
        return box

    def add(self, message: RoutableMessage) -> None:
        """Put a message into the mailbox of its target."""
        target = message.target
        box = self._boxes.get(target)
        if box is None:
            box = self._boxes[target] = _Mailbox()
        if not box.messages:
            self._ready.append(target)
        box.messages.append(message)
        self._unwritten.add(target)
        self.waiting += 1

    @property
    def has_ready(self) -> bool:
        """Whether a batch can be handled now."""
        return bool(self._ready)

    def take_ready(self) -> Address | None:
        """The address that has been ready longest; None if there is none."""
        return self._ready.popleft() if self._ready else None

    def batch(
        self, target: Address, most: int, most_bytes: int | None = None
    ) -> list[RoutableMessage]:
        """The first messages of an address, which are in flight from now on.

        Args:
            most_bytes: bytes of all their arguments; one message may have more. None if there is no
                limit.
        """
        box = self._boxes[target]
        messages = list(islice(box.messages, most))
        if most_bytes is not None:
            ends = accumulate(len(message.argument.value) + _OVERHEAD for message in messages)
            fitting = sum(1 for end in ends if end <= most_bytes)
            messages = messages[: max(1, fitting)]
        box.in_flight = len(messages)
        return messages

    def done(self, target: Address) -> None:
        """Remove the messages in flight. The address is ready again if messages are left."""
        box = self._boxes[target]
        for _ in range(box.in_flight):
            box.messages.popleft()
            if box.numbers:
                self._table.remove(target.id, box.numbers.popleft())
        self.waiting -= box.in_flight
        box.in_flight = 0
        if box.messages:
            self._ready.append(target)
        else:
            del self._boxes[target]

    def repeat(self, target: Address) -> None:
        """Let the messages in flight be handled again, before others of the address."""
        self._boxes[target].in_flight = 0
        self._ready.appendleft(target)

    def write(self) -> None:
        """Write the messages that wait and are not in the table yet."""
        for target in self._unwritten:
            box = self._boxes.get(target)
            if box is None:
                continue
            for message in islice(box.messages, len(box.numbers), None):
                self._table.put(target.id, self._next_number, plain(message))
                box.numbers.append(self._next_number)
                self._next_number += 1
        self._unwritten.clear()

    def sizes(self) -> Iterator[tuple[Address, int]]:
        """Addresses with the number of their messages."""
        return ((address, len(box.messages)) for address, box in self._boxes.items())

    def backlogs(self) -> Iterator[tuple[Address, int]]:
        """Addresses with the number of their messages that are not in flight."""
        for address, box in self._boxes.items():
            yield address, len(box.messages) - box.in_flight
