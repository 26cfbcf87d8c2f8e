"""MessageIterator: the messages that a vertex has received."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["MessageIterator"]

T = TypeVar("T")


class MessageIterator(Generic[T]):
    """The messages of a vertex, in the order of tasks. It can be read more than once.

    Example:
        >>> messages = MessageIterator([3, 1])
        >>> min(messages), len(messages), messages.has_next(), messages.next()
        (1, 2, True, 3)
    """

    __slots__ = ("_at", "_messages")

    def __init__(self, messages: list[T]) -> None:
        self._messages = messages
        self._at = 0

    def __iter__(self) -> Iterator[T]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __bool__(self) -> bool:
        return bool(self._messages)

    def has_next(self) -> bool:
        """Whether `next` has a further message."""
        return self._at < len(self._messages)

    def next(self) -> T:
        """The next message.

        Raises:
            StopIteration: there is none.
        """
        if self._at == len(self._messages):
            raise StopIteration
        self._at += 1
        return self._messages[self._at - 1]
