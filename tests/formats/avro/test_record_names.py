"""Records of other names are read by their fields."""

from __future__ import annotations

import io
from typing import Any

import fastavro

from millrace.formats.avro.avro_decoder import AvroDecoder
from millrace.formats.avro.avro_schema import AvroSchema

ROW = {
    "type": "record",
    "name": "Value",
    "namespace": "server.db",
    "fields": [{"name": "id", "type": "int"}, {"name": "more", "type": "string", "default": ""}],
}
WRITER = {
    "type": "record",
    "name": "server.db.Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "all", "type": {"type": "array", "items": "Value"}},
        {"name": "named", "type": {"type": "map", "values": ["null", "server.db.Value"]}},
    ],
}


def own(name: str) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "id", "type": ["null", "int"]}]}


READER = {
    "type": "record",
    "name": "mine",
    "fields": [
        {"name": "after", "type": ["null", own("a")], "default": None},
        {"name": "before", "type": ["null", own("b")], "default": None},
        {"name": "all", "type": ["null", {"type": "array", "items": own("c")}]},
        {"name": "named", "type": {"type": "map", "values": ["null", own("d")]}},
        {"name": "new", "type": ["null", own("e")], "default": None},
    ],
}


def test_inner_records_are_found_by_their_place() -> None:
    stream = io.BytesIO()
    value = {"id": 7, "more": "x"}
    record = {"before": None, "after": value, "all": [value], "named": {"k": value}}
    fastavro.schemaless_writer(stream, fastavro.parse_schema(WRITER), record)
    decoder = AvroDecoder(AvroSchema(WRITER), AvroSchema(READER))
    [row] = decoder.read([stream.getvalue()]).to_rows().values
    assert row.as_dict(True) == {
        "after": {"id": 7},
        "before": None,
        "all": [{"id": 7}],
        "named": {"k": {"id": 7}},
        "new": None,
    }
