"""Start and end positions of a Pulsar source. Flink docs: "Pulsar", Starting Position,
Boundedness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.connectors.pulsar.message_position import EARLIEST, MessagePosition

__all__ = ["StartCursor", "StopCursor"]


@dataclass(frozen=True)
class StartCursor:
    """Start position in a partition for a job that is not resumed from a checkpoint.

    Example:
        >>> StartCursor.earliest() == StartCursor.default_start_cursor()
        True
    """

    position: MessagePosition | None = EARLIEST
    """None for the position after the last message, unless a time is set."""
    inclusive: bool = True
    publish_time: int | None = None

    @staticmethod
    def default_start_cursor() -> StartCursor:
        """The earliest message."""
        return StartCursor()

    @staticmethod
    def earliest() -> StartCursor:
        """The first message that the brokers have."""
        return StartCursor()

    @staticmethod
    def latest() -> StartCursor:
        """Messages that are published after the job has started."""
        return StartCursor(None, inclusive=False)

    @staticmethod
    def from_message_id(message_id: Any, inclusive: bool = True) -> StartCursor:
        """A message, or the messages after it.

        Args:
            message_id: a ``pulsar.MessageId``, or the bytes of its ``serialize()``.

        Raises:
            JobDefinitionError: the argument is neither.
        """
        return StartCursor(MessagePosition.of(message_id), inclusive)

    @staticmethod
    def from_publish_time(timestamp: int) -> StartCursor:
        """The first message published at or after a time, in ms since 1970."""
        return StartCursor(None, publish_time=_time(timestamp))


@dataclass(frozen=True)
class StopCursor:
    """End position in a partition.

    Example:
        >>> StopCursor.never().is_latest
        False
    """

    is_latest: bool = False
    """Whether it ends with what is there when the job begins."""
    position: MessagePosition | None = None
    inclusive: bool = False
    publish_time: float = math.inf
    """The first time at which a message is published that is left out."""
    event_time: float = math.inf

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        """Never stop."""
        return StopCursor()

    @staticmethod
    def never() -> StopCursor:
        """Never stop."""
        return StopCursor()

    @staticmethod
    def latest() -> StopCursor:
        """End after the last message that exists when the job starts."""
        return StopCursor(is_latest=True)

    @staticmethod
    def at_message_id(message_id: Any) -> StopCursor:
        """End before a message: a ``pulsar.MessageId``, or the bytes of its ``serialize()``."""
        return StopCursor(position=MessagePosition.of(message_id))

    @staticmethod
    def after_message_id(message_id: Any) -> StopCursor:
        """End after a message: a ``pulsar.MessageId``, or the bytes of its ``serialize()``."""
        return StopCursor(position=MessagePosition.of(message_id), inclusive=True)

    @staticmethod
    def at_publish_time(timestamp: int) -> StopCursor:
        """End before the first message published at or after a time, in ms since 1970."""
        return StopCursor(publish_time=_time(timestamp))

    @staticmethod
    def after_publish_time(timestamp: int) -> StopCursor:
        """End before the first message published after a time, in ms since 1970."""
        return StopCursor(publish_time=_time(timestamp) + 1)

    @staticmethod
    def at_event_time(timestamp: int) -> StopCursor:
        """End before the first message with an event time at or after a time, in ms since 1970."""
        return StopCursor(event_time=_time(timestamp))

    @staticmethod
    def after_event_time(timestamp: int) -> StopCursor:
        """End before the first message with an event time after a time, in ms since 1970."""
        return StopCursor(event_time=_time(timestamp) + 1)

    @property
    def by_time(self) -> bool:
        """Whether the end position depends on the times of messages."""
        return min(self.publish_time, self.event_time) < math.inf

    def excludes(self, publish_time: int, event_time: int) -> bool:
        """Whether the partition ends before a message with the given times."""
        return publish_time >= self.publish_time or event_time >= self.event_time


def _time(timestamp: Any) -> int:
    if not isinstance(timestamp, int) or timestamp < 0:
        raise JobDefinitionError(f"the time must be a number of ms since 1970, not {timestamp!r}")
    return timestamp
