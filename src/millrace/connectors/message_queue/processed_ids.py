"""Ids of processed messages, which a queue may deliver again if it has not recorded their
acknowledgement.

Flink: ``MultipleIdsMessageAcknowledgingSourceBase``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ACKNOWLEDGED_MS", "RESTORED_MS", "ProcessedIds"]

RESTORED_MS = 2 * 3_600_000
"""Milliseconds for which the ids of an earlier reader are kept; queues drop a reader sooner."""
ACKNOWLEDGED_MS = 5_000
"""Milliseconds for which ids are kept after their acknowledgement. A server that is killed may lose
an acknowledgement that it has not yet written to its disk."""


class ProcessedIds:
    """Ids that a reader's position stores: of messages that the reader has processed, and of
    messages that the queue may deliver again for a while.

    Args:
        restored: result of `snapshot`, or None.
        now: milliseconds since the epoch.
    """

    def __init__(self, restored: Any, now: int) -> None:
        fresh, kept = restored or ((), ())
        self._fresh: dict[str, None] = {}
        ids = [*fresh, *(message_id for _, some in kept for message_id in some)]
        self._until = dict.fromkeys(ids, now + RESTORED_MS)
        """Ids of messages processed before, with the time at which each is forgotten."""

    def add(self, message_id: str) -> bool:
        """Add the id of a message to process; False if the message was processed before."""
        known = message_id in self._fresh or self._until.pop(message_id, None) is not None
        self._fresh[message_id] = None
        return not known

    def acknowledged(self, now: int) -> None:
        """Mark all messages that this reader has processed as acknowledged to the queue."""
        if self._until:
            self._until = {id: until for id, until in self._until.items() if until > now}
        self._until.update(dict.fromkeys(self._fresh, now + ACKNOWLEDGED_MS))
        self._fresh = {}

    def snapshot(self) -> Any:
        """Plain data for the position."""
        kept: dict[int, list[str]] = {}
        for message_id, until in self._until.items():
            kept.setdefault(until, []).append(message_id)
        return tuple(self._fresh), tuple((until, tuple(ids)) for until, ids in kept.items())
