"""Frame of messages with a schema in a registry: a zero byte, and the schema id in four bytes
(Confluent docs, "Wire format")."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["PREFIX_BYTES", "prefix", "schema_id_of", "schema_ids_of"]

PREFIX_BYTES = 5


def prefix(schema_id: int) -> bytes:
    """Frame of a message, which precedes its content.

    >>> prefix(258)
    b'\\x00\\x00\\x00\\x01\\x02'
    """
    return b"\0" + schema_id.to_bytes(4, "big")


def schema_id_of(message: bytes) -> int:
    """Schema id of a message.

    Raises:
        MalformedRecordError: the message has no frame.
    """
    if len(message) < PREFIX_BYTES or message[0] != 0:
        raise MalformedRecordError(
            "a message does not begin with the zero byte and the four bytes of a schema's id that "
            "the schema registry's wire format has",
            bytes(message),
        )
    return int.from_bytes(message[1:PREFIX_BYTES], "big")


def schema_ids_of(messages: Sequence[bytes]) -> dict[int, list[int]]:
    """Positions of the messages by schema id; nearly always there is one id.

    Raises:
        MalformedRecordError: a message has no frame.
    """
    prefixes = {message[:PREFIX_BYTES] for message in messages}
    if len(prefixes) == 1:
        return {schema_id_of(messages[0]): list(range(len(messages)))}
    positions: dict[int, list[int]] = {}
    for position, message in enumerate(messages):
        positions.setdefault(schema_id_of(message), []).append(position)
    return positions
