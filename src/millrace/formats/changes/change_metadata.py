"""`ChangeMetadata`: metadata of a message about changed rows, such as its table and time.

Flink docs: "Debezium Format", "Canal Format", "Maxwell Format", "Ogg Format", each "Available
Metadata".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

__all__ = [
    "CANAL_METADATA",
    "DEBEZIUM_METADATA",
    "MAXWELL_METADATA",
    "OGG_METADATA",
    "ChangeMetadata",
    "decoded_change",
]

Message = Mapping[str, Any]
decoded_change: Callable[[bytes], Any] = msgspec.json.Decoder().decode
"""Decoder of a message for `ChangeMetadata.of`, so that several fields need one decoding."""
_FIRST_MILLIS = 10**11
"""Smaller numbers are seconds, as Maxwell writes them; as ms, they would be times before March
1973."""


@dataclass(frozen=True)
class ChangeMetadata:
    """One metadata field of a change message.

    Attributes:
        type: type of the column in SQL.
        read: gives it of a decoded message; a time as such or as ms since 1970.
        of_schema: whether the field belongs to the schema that a message carries.
        wrapped: whether messages carry their schema, with the content as ``payload``.

    Example:
        >>> CANAL_METADATA["table"](b'{"type": "INSERT", "data": [{}], "table": "orders"}')
        'orders'
    """

    type: str
    read: Callable[[Message], Any]
    of_schema: bool = False
    wrapped: bool = False

    def __call__(self, message: bytes) -> Any:
        """Value of the field in a message."""
        return self.of(decoded_change(message))

    def of(self, decoded: Any) -> Any:
        """Value of the field in a decoded message.

        Raises:
            ValueError: the message is not an object, or what it is part of is none.
        """
        try:
            if self.wrapped and not self.of_schema:
                decoded = decoded.get("payload") or {}
            return self.read(decoded)
        except AttributeError:
            raise ValueError(
                "a message of changes has metadata that are not a JSON object"
            ) from None


def _field(name: str, message: Message) -> Any:
    return message.get(name)


def _of_source(name: str, message: Message) -> Any:
    return (message.get("source") or {}).get(name)


def _pairs(name: str, message: Message) -> list[tuple[str, Any]] | None:
    entries = message.get(name)
    return None if entries is None else list(entries.items())


def _properties(message: Message) -> list[tuple[str, str | None]] | None:
    pairs = _pairs("source", message)
    return None if pairs is None else [(name, _text(value)) for name, value in pairs]


def _schema(message: Message) -> str | None:
    return _text(message.get("schema"))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _seconds_or_millis(message: Message) -> int | None:
    at: int | None = message.get("ts")
    return at * 1000 if at is not None and at < _FIRST_MILLIS else at


def _time(name: str, message: Message) -> datetime | None:
    text = message.get(name)
    if text is None:
        return None
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


_TIME, _MICROS = "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)"
_TEXT, _TEXTS = "STRING", "ARRAY<STRING>"

DEBEZIUM_METADATA = {
    "schema": ChangeMetadata(_TEXT, _schema, of_schema=True),
    "ingestion-timestamp": ChangeMetadata(_TIME, partial(_field, "ts_ms")),
    "source.timestamp": ChangeMetadata(_TIME, partial(_of_source, "ts_ms")),
    "source.database": ChangeMetadata(_TEXT, partial(_of_source, "db")),
    "source.schema": ChangeMetadata(_TEXT, partial(_of_source, "schema")),
    "source.table": ChangeMetadata(_TEXT, partial(_of_source, "table")),
    "source.properties": ChangeMetadata("MAP<STRING, STRING>", _properties),
}
CANAL_METADATA = {
    "database": ChangeMetadata(_TEXT, partial(_field, "database")),
    "table": ChangeMetadata(_TEXT, partial(_field, "table")),
    "sql-type": ChangeMetadata("MAP<STRING, INT>", partial(_pairs, "sqlType")),
    "pk-names": ChangeMetadata(_TEXTS, partial(_field, "pkNames")),
    "ingestion-timestamp": ChangeMetadata(_TIME, partial(_field, "ts")),
}
MAXWELL_METADATA = {
    "database": ChangeMetadata(_TEXT, partial(_field, "database")),
    "table": ChangeMetadata(_TEXT, partial(_field, "table")),
    "primary-key-columns": ChangeMetadata(_TEXTS, partial(_field, "primary_key_columns")),
    "ingestion-timestamp": ChangeMetadata(_TIME, _seconds_or_millis),
}
OGG_METADATA = {
    "table": ChangeMetadata(_TEXT, partial(_field, "table")),
    "primary-keys": ChangeMetadata(_TEXTS, partial(_field, "primary_keys")),
    "ingestion-timestamp": ChangeMetadata(_MICROS, partial(_time, "current_ts")),
    "event-timestamp": ChangeMetadata(_MICROS, partial(_time, "op_ts")),
}
