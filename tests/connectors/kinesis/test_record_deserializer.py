"""Reading records of a shard: several of one, and failures that are no record's fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from millrace.common import SimpleStringSchema, Types
from millrace.common.error_policy import ErrorPolicy
from millrace.common.source import ReaderContext
from millrace.common.types.batch import Batch
from millrace.connectors.errors import ConnectorError
from millrace.connectors.kinesis.record_deserializer import KinesisRecord, RecordDecoder
from millrace.formats.changes import DebeziumJsonDeserializationSchema


def records(*contents: bytes) -> list[KinesisRecord]:
    """Each arrives a second after the one before."""
    return [
        KinesisRecord("s", "shard-0", str(at), "key", 1000 * at, data)
        for at, data in enumerate(contents)
    ]


def decoder(schema: Any) -> RecordDecoder:
    return RecordDecoder(schema, ErrorPolicy.skip(), ReaderContext(0, 1, lambda: 0), "s:shard-0")


def test_a_message_of_several_rows_gives_each_its_time() -> None:
    schema = DebeziumJsonDeserializationSchema(Types.ROW_NAMED(["n"], [Types.INT()]))
    found = decoder(schema).decode(
        records(
            b'{"before": null, "after": {"n": 1}, "op": "c"}',
            b'{"before": {"n": 1}, "after": {"n": 2}, "op": "u"}',
            b"broken",
            b'{"before": {"n": 2}, "after": null, "op": "d"}',
        )
    )
    rows = [
        (value["n"], at)
        for batch in found
        for value, at in zip(batch.to_rows().values, batch.to_rows().timestamps, strict=True)
    ]
    assert rows == [(1, 0), (1, 1000), (2, 1000), (2, 3000)]


def test_a_failure_that_is_of_no_record_is_no_reason_to_pass_over_one() -> None:
    class Unanswered(SimpleStringSchema):
        def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
            raise ConnectorError("the schema registry does not answer")

    with pytest.raises(ConnectorError, match="^the schema registry does not answer$"):
        decoder(Unanswered()).decode(records(b"a", b"b"))
