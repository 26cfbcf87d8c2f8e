"""Positions of messages in a topic's partition, in the form that checkpoints store."""

from __future__ import annotations

from typing import Any, NamedTuple

from millrace.common.errors import JobDefinitionError
from millrace.connectors.pulsar.client import import_pulsar

__all__ = ["EARLIEST", "MessagePosition"]

_LAST = (1 << 31) - 1
"""Behind all that were sent together."""


class MessagePosition(NamedTuple):
    """A position in a partition; later positions compare as greater.

    Attributes:
        ledger: ledger in which Pulsar stores the message.
        entry: its place in that; -1: before the first.
        batch_index: its place among those that were sent together; -1: it was sent alone.
    """

    ledger: int
    entry: int
    batch_index: int = -1

    @staticmethod
    def of(message_id: Any) -> MessagePosition:
        """Position of a ``pulsar.MessageId``, or of one in bytes.

        Raises:
            JobDefinitionError: it is none.
        """
        native_id = message_id
        if isinstance(message_id, bytes):
            try:
                native_id = import_pulsar().MessageId.deserialize(message_id)
            except Exception as error:  # whatever kinds the client has
                raise JobDefinitionError(f"these bytes are not a message id: {error}") from error
        try:
            return MessagePosition(
                native_id.ledger_id(), native_id.entry_id(), native_id.batch_index()
            )
        except (AttributeError, TypeError):
            raise JobDefinitionError(
                "a message id must be a pulsar.MessageId or the bytes of its serialize(), not "
                f"{message_id!r}"
            ) from None

    def message_id(self) -> Any:
        """The position as the client's message id."""
        return import_pulsar().MessageId(-1, self.ledger, self.entry, self.batch_index)

    def before(self) -> MessagePosition:
        """Position of the preceding message."""
        if self.batch_index >= 0:
            return MessagePosition(self.ledger, self.entry, self.batch_index - 1)
        return MessagePosition(self.ledger, self.entry - 1, _LAST)

    def whole_entry(self) -> MessagePosition | None:
        """Position of the last complete entry; None if there is none. An acknowledgement of a part
        of a batch could lose the rest of the batch.
        """
        if self.batch_index < 0:
            return self
        return MessagePosition(self.ledger, self.entry - 1) if self.entry > 0 else None


EARLIEST = MessagePosition(-1, -1)
"""Before the first message that is kept."""
