"""Records of Kafka as rows, without a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.connectors.kafka import table_records
from millrace.connectors.kafka.table_records import RecordPart, TableRecordDeserializationSchema
from millrace.formats.changes.change_metadata import DEBEZIUM_METADATA
from millrace.table.formats.change_formats import CHANGE_FORMATS


@dataclass
class Message:
    sent: bytes | None

    def value(self) -> bytes | None:
        return self.sent


def test_a_message_is_decoded_once_for_all_its_rows_and_metadata(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[bytes] = []
    decode = table_records.decoded_change

    def counted(message: bytes) -> Any:
        decoded.append(message)
        return decode(message)

    monkeypatch.setattr(table_records, "decoded_change", counted)
    keys = ("source.db", "source.table")
    texts = {key: parse_type("STRING") for key in keys}
    physical = RowType.of(("id", parse_type("INT")))
    columns = RowType.of(*texts.items(), ("id", parse_type("INT")))
    chosen = CHANGE_FORMATS["debezium-json"]
    debezium = chosen.deserializer(physical, ["id"], lambda option: option.default)
    records = TableRecordDeserializationSchema(
        columns, RecordPart(debezium, physical), None, {key: f"value.{key}" for key in keys}
    )
    records.of_values = {
        "value.source.db": DEBEZIUM_METADATA["source.database"],
        "value.source.table": DEBEZIUM_METADATA["source.table"],
    }
    update = (
        b'{"op": "u", "before": {"id": 1}, "after": {"id": 2}, '
        b'"source": {"db": "shop", "table": "orders"}}'
    )
    rows, origins = records.deserialize_flat([Message(update), Message(None), Message(b"")])
    found = [tuple(row) for row in rows.to_rows().values]
    assert found == [("shop", "orders", 1), ("shop", "orders", 2)]
    assert origins == [0, 0]
    assert decoded == [update]
