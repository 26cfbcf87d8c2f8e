"""MessageCombiner: combines several messages for the same vertex into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from millrace.graph.iterations.message_iterator import MessageIterator

__all__ = ["MessageCombiner"]

M = TypeVar("M")

_NOTHING: Any = object()


class MessageCombiner(ABC, Generic[M]):
    """Function that combines messages for the same vertex, where they are sent and where they
    arrive. It must be associative and commutative. A vertex with one message gets it as it is."""

    @abstractmethod
    def combine_messages(self, messages: MessageIterator[M]) -> None:
        """Combine messages, and call `send_combined_message` once."""

    _combined: Any

    def send_combined_message(self, combined_message: M) -> None:
        """Set the message that takes the place of the others."""
        self._combined = combined_message

    def _combine(self, messages: list[M]) -> M:
        self._combined = _NOTHING
        self.combine_messages(MessageIterator(messages))
        if self._combined is _NOTHING:
            raise ValueError(
                f"{type(self).__qualname__}.combine_messages did not call send_combined_message"
            )
        combined: M = self._combined
        return combined
