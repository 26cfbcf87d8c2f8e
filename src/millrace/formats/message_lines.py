"""Files of messages, one per line, read and written with message schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import DeserializationSchema, Encoder, SerializationSchema
from millrace.formats.stream_format import LineFormat

__all__ = ["MessageLinesEncoder", "MessageLinesFormat"]


class MessageLinesFormat(LineFormat[Any]):
    """Reads each line as a message with a schema; empty lines are skipped.

    Args:
        schema: reads the messages; they must be text without line feeds, such as JSON.
        empty_lines: whether empty lines are messages, too.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> MessageLinesFormat(SimpleStringSchema()).decode([b"to be\\n", b"\\n", b"or not"])
        ['to be', 'or not']

    Raises:
        JobDefinitionError: the schema is not a `DeserializationSchema`.
    """

    def __init__(self, schema: DeserializationSchema[Any], empty_lines: bool = False) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise JobDefinitionError(
                f"MessageLinesFormat takes a DeserializationSchema, not {schema!r}"
            )
        self._schema = schema
        self._empty_lines = empty_lines

    def decode(self, lines: list[bytes]) -> list[Any]:
        messages = [line.rstrip(b"\r\n") for line in lines]
        if not self._empty_lines:
            messages = list(filter(None, messages))
        records = self._schema.deserialize_flat(messages)[0].to_rows().values
        return [record for record in records if record is not None]


class MessageLinesEncoder(Encoder[Any]):
    """Writes each record as a line, with a message schema.

    Args:
        schema: writes the records, as text without line feeds.

    Raises:
        JobDefinitionError: the schema is not a `SerializationSchema`.
    """

    def __init__(self, schema: SerializationSchema[Any]) -> None:
        if not isinstance(schema, SerializationSchema):
            raise JobDefinitionError(
                f"MessageLinesEncoder takes a SerializationSchema, not {schema!r}"
            )
        self._schema = schema

    def encode(self, element: Any) -> bytes:
        return self.encode_all([element])

    def encode_all(self, elements: Sequence[Any]) -> bytes:
        """Lines of the records.

        Raises:
            SerializationError: a message contains a line feed.
        """
        messages = self._schema.serialize_batch(elements)
        for message in messages:
            if b"\n" in message:
                raise SerializationError(
                    f"a message with a line feed in it is not a line: {message[:200]!r}"
                )
        return b"".join([message + b"\n" for message in messages])
