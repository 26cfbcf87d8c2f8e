"""Which failures are a record's own fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from millrace.common.error_policy import ErrorPolicy
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import ReaderContext
from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.logical.logical_type import BigIntType, RowType
from millrace.common.types.typeinfo import Types
from millrace.connectors.errors import ConnectorError
from millrace.connectors.kafka.record_deserializer import ValueOnlyDeserializationSchema
from millrace.connectors.kafka.value_decoder import ValueDecoder
from millrace.formats.changes import DebeziumJsonDeserializationSchema
from millrace.formats.json_row import JsonRowDeserializationSchema


class Message:
    """As confluent_kafka has them."""

    def __init__(self, value: bytes) -> None:
        self._value = value

    def value(self) -> bytes:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return 1, 7

    def offset(self) -> int:
        return 3

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0


class Failing(DeserializationSchema[bytes]):
    def __init__(self, error: Exception) -> None:
        self._error = error

    def deserialize(self, message: bytes) -> bytes:
        if message == b"bad":
            raise self._error
        return message


def decoded(error: Exception) -> list[Any]:
    schema = ValueOnlyDeserializationSchema(Failing(error))
    context = ReaderContext(0, 1, lambda: 0)
    decoder = ValueDecoder(schema, ErrorPolicy.skip(), context, "t-0")
    messages: Sequence[Any] = [Message(value) for value in (b"a", b"bad", b"b", b"c")]
    batches: list[Batch] = list(decoder.decode(messages))
    return [value for batch in batches for value in batch.to_rows().values]


def test_a_record_that_cannot_be_read_is_skipped() -> None:
    assert decoded(ValueError("x")) == [b"a", b"b", b"c"]


def test_a_registry_that_does_not_answer_skips_nothing() -> None:
    with pytest.raises(ConnectorError, match="no answer"):
        decoded(ConnectorError("no answer"))


class Timed(Message):
    def __init__(self, value: bytes | None, time: int) -> None:
        super().__init__(value or b"")
        self._time = time
        self._is_tombstone = value is None

    def value(self) -> Any:
        return None if self._is_tombstone else self._value

    def timestamp(self) -> tuple[int, int]:
        return 1, self._time


def test_a_message_may_be_several_rows_and_each_has_its_time() -> None:
    row_type = Types.ROW_NAMED(["id"], [Types.LONG()])
    schema = ValueOnlyDeserializationSchema(DebeziumJsonDeserializationSchema(row_type))
    update = b'{"op": "u", "before": {"id": 1}, "after": {"id": 2}}'
    values = [update, None, b'{"op": "x"}', b'{"op": "d", "before": {"id": 2}}', b"", update]
    messages: Sequence[Any] = [Timed(value, time) for time, value in enumerate(values)]
    context = ReaderContext(0, 1, lambda: 0)
    decoder = ValueDecoder(schema, ErrorPolicy.skip(), context, "t-0")
    found = []
    for batch in decoder.decode(messages):
        rows = batch.to_rows()
        kinds = [row.get_row_kind().value for row in rows.values]
        ids = [row.id for row in rows.values]
        found += list(zip(kinds, ids, rows.timestamps or [], strict=True))
    assert found == [(1, 1, 0), (2, 2, 0), (3, 2, 3), (1, 1, 5), (2, 2, 5)]


def test_too_few_records_are_the_schema_s_fault() -> None:
    class Lossy(DeserializationSchema[bytes]):
        def deserialize(self, message: bytes) -> bytes:
            return message

        def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
            return RowBatch(list(messages[1:]))

    context = ReaderContext(0, 1, lambda: 0)
    for values in ([b"a", b"b"], [b"a", None]):
        messages: Sequence[Any] = [Timed(value, 7) for value in values]
        schema = ValueOnlyDeserializationSchema(Lossy())
        decoder = ValueDecoder(schema, ErrorPolicy.skip(), context, "t-0")
        with pytest.raises(ConnectorError, match="records for . messages of t-0"):
            list(decoder.decode(messages))


def test_the_error_of_a_table_names_its_option_and_type_and_no_method() -> None:
    row_type = Types.ROW_NAMED(["n"], [Types.LONG()])
    builder = JsonRowDeserializationSchema.builder().type_info(row_type)
    json = builder.table(RowType.of(("n", BigIntType()))).build()
    context = ReaderContext(0, 1, lambda: 0)
    decoder = ValueDecoder(ValueOnlyDeserializationSchema(json), ErrorPolicy.fail(), context, "t-0")
    messages: Sequence[Any] = [Message(b'{"n": "x"}')]
    with pytest.raises(ConnectorError, match="'json.ignore-parse-errors' = 'true'") as raised:
        list(decoder.decode(messages))
    assert "ROW<`n` BIGINT>" in str(raised.value)
    assert "set_error_policy" not in str(raised.value)
    assert "ignore_parse_errors()" not in str(raised.value)
