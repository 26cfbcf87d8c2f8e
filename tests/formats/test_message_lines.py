"""Files of messages, in a source and a sink, with bad ones among them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millrace.common import ErrorPolicy, Row, RowKind, Types, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import SimpleStringSchema
from millrace.connectors import BucketAssigner, FileSink, FileSource
from millrace.datastream import OutputTag, StreamExecutionEnvironment
from millrace.formats import MessageLinesEncoder, MessageLinesFormat
from millrace.formats.changes import (
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
)
from millrace.testing import run_local

TYPE = Types.ROW_NAMED(["id"], [Types.LONG()])


def lines(count: int) -> list[bytes]:
    return [
        json.dumps({"op": "u", "before": {"id": i}, "after": {"id": -i}}).encode()
        for i in range(count)
    ]


def test_changes_of_a_file_are_rows_with_kinds(tmp_path: Path) -> None:
    """Broken ones go to a side output; what is written is read again."""
    messages = lines(50)
    messages[20] = b'{"op": "u", "before": null}'
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(messages))
    tag = OutputTag("bad")
    source = (
        FileSource.for_record_stream_format(
            MessageLinesFormat(DebeziumJsonDeserializationSchema(TYPE)), tmp_path / "in.jsonl"
        )
        .set_error_policy(ErrorPolicy.side_output(tag))
        .set_split_size(300)
        .build()
    )
    encoder = MessageLinesEncoder(DebeziumJsonSerializationSchema(TYPE))
    sink = (
        FileSink.for_row_format(str(tmp_path / "out"), encoder)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "changes")
        stream.sink_to(sink)
        bad = stream.get_side_output(tag).execute_and_collect("changes")
        assert [letter.raw.strip() for letter in bad] == [messages[20]]
    found = b"".join(part.read_bytes() for part in (tmp_path / "out").glob("part-*"))
    read = DebeziumJsonDeserializationSchema(TYPE).deserialize_batch(found.splitlines())
    kinds = (RowKind.DELETE, RowKind.INSERT)
    expected = [
        Row.of_kind(kind, id=number)
        for i in range(50)
        if i != 20
        for kind, number in zip(kinds, (i, -i), strict=True)
    ]
    rows: list[Any] = read.to_rows().values
    order = {id: place for place, id in enumerate(str(row.id) for row in expected)}
    assert sorted(rows, key=lambda row: abs(row.id)) == sorted(expected, key=lambda r: abs(r.id))
    assert order


def test_arguments() -> None:
    with pytest.raises(JobDefinitionError, match="takes a DeserializationSchema"):
        MessageLinesFormat("x")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="takes a SerializationSchema"):
        MessageLinesEncoder("x")  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match="line feed in it"):
        MessageLinesEncoder(SimpleStringSchema()).encode("a\nb")
