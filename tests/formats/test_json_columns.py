"""JSON objects as columns: the same rows as one by one, or none at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common import Types
from millrace.common.errors import SerializationError
from millrace.common.types.batch import ColumnBatch
from millrace.formats.json_columns import JsonColumns
from millrace.formats.json_row import JsonRowDeserializationSchema

ROW_TYPE = Types.ROW_NAMED(
    ["flag", "small", "big", "real", "text"],
    [Types.BOOLEAN(), Types.SHORT(), Types.LONG(), Types.DOUBLE(), Types.STRING()],
)
SCHEMA = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE).build()

VALUES = {
    "flag": st.booleans(),
    "small": st.integers(-(2**16), 2**16),
    "big": st.integers(-(2**64), 2**64),
    "real": st.floats(allow_nan=False) | st.integers(),
    "text": st.text(),
    "more": st.none() | st.lists(st.text()),
}
OBJECTS = st.fixed_dictionaries(
    {}, optional={n: s | st.none() | st.just("1") for n, s in VALUES.items()}
)
MESSAGES = st.lists(
    OBJECTS.map(lambda value: json.dumps(value).encode())
    | st.sampled_from([b"", b" ", b"{}", b"{} {}", b'{"big":\n1}', b"[1]", b"nul", b'{"big": 1}'])
)


def one_by_one(messages: list[bytes]) -> list[Any] | None:
    try:
        return [SCHEMA.deserialize(message) for message in messages]
    except SerializationError:
        return None


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(MESSAGES)
def test_columns_are_the_rows_one_by_one(messages: list[bytes]) -> None:
    found = JsonColumns(ROW_TYPE).read(messages)
    if found is not None:
        assert found.to_rows().values == one_by_one(messages)


def test_ordinary_messages_become_columns() -> None:
    messages = [b'{"big": %d, "text": "t\\u00e9\\n", "x": {"y": [1]}}' % i for i in range(3)]
    batch = SCHEMA.deserialize_batch(messages)
    assert isinstance(batch, ColumnBatch)
    assert batch.to_rows().values == one_by_one(messages)


def test_numbers_out_of_range_are_read_one_by_one() -> None:
    messages = [b'{"small": 1}', b'{"small": 65536}']
    assert JsonColumns(ROW_TYPE).read(messages) is None


def test_types_that_msgspec_reads_differently_are_read_one_by_one() -> None:
    row_type = Types.ROW_NAMED(["price"], [Types.BIG_DEC()])
    assert JsonColumns(row_type).read([b'{"price": 1.5}']) is None


def test_missing_fields_are_found_one_by_one() -> None:
    builder = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE)
    assert JsonColumns(ROW_TYPE, strict=True).read([b"{}"]) is None
    with pytest.raises(SerializationError, match="'flag' is missing"):
        builder.fail_on_missing_field().build().deserialize_batch([b"{}"])


def test_many_messages_become_columns_piece_by_piece() -> None:
    messages = [b'{"big": %d, "text": "t%d", "flag": %s}' % (i, i, b"null") for i in range(4_500)]
    batch = JsonColumns(ROW_TYPE).read(messages)
    assert batch is not None
    assert batch.data.column("big").to_pylist() == list(range(4_500))
    assert batch.data.column("text").to_pylist() == [f"t{i}" for i in range(4_500)]
    assert batch.data.column("flag").null_count == 4_500
    assert JsonColumns(ROW_TYPE).read([*messages, b'{"big": "1"}']) is None


def test_no_messages_are_no_rows() -> None:
    batch = JsonColumns(ROW_TYPE).read([])
    assert batch is not None
    assert batch.to_rows().values == []
