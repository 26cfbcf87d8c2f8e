from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import ColumnBatch
from millrace.runtime.column_stream import ColumnStreamReader, ColumnStreamWriter, check_columns


class Celsius(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized) -> Celsius:
        return cls()


def words(*values: str | None) -> ColumnBatch:
    return ColumnBatch(pa.record_batch({"word": pa.array(values).dictionary_encode()}))


def payloads(*batches: ColumnBatch) -> list[bytes]:
    writer = ColumnStreamWriter(batches[0])
    assert all(map(writer.fits, batches))
    return [writer.write(batch) for batch in batches]


def through(*batches: ColumnBatch) -> list[ColumnBatch]:
    reader = ColumnStreamReader()
    return [reader.read(payload) for payload in payloads(*batches)]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9) | st.none(), max_size=5), min_size=1, max_size=4),
    st.sampled_from(["dict", "row", "tuple", "value"]),
    st.booleans(),
    st.booleans(),
)
def test_batches_arrive_as_they_were(columns, form, timed, kinds) -> None:
    sent = [
        ColumnBatch(
            pa.record_batch({"x": pa.array(values, pa.int64())}, metadata={"of": "user"}),
            pa.array(range(len(values)), pa.int64()) if timed else None,
            pa.array([1] * len(values), pa.int8()) if kinds else None,
            form,
        )
        for values in columns
    ]
    for before, after in zip(sent, through(*sent), strict=True):
        assert after.data.equals(before.data, check_metadata=True)
        assert after.timestamps == before.timestamps
        assert after.row_kinds == before.row_kinds
        assert after.form == before.form


def test_columns_may_be_called_anything() -> None:
    """Event times and kinds are found by their place."""
    names = ["@event-time", "@row-kind", "@event-time"]
    data = pa.RecordBatch.from_arrays([pa.array([n]) for n in range(3)], names)
    [after] = through(ColumnBatch(data, pa.array([7]), pa.array([2], pa.int8())))
    assert after.data == data
    assert after.timestamps.to_pylist() == [7]
    assert after.row_kinds.to_pylist() == [2]


def test_records_without_fields() -> None:
    data = pa.record_batch({"x": [1, 2]}).select([])
    [after] = through(ColumnBatch(data, pa.array([7, 8])))
    assert after.timestamps.to_pylist() == [7, 8]


def test_the_schema_goes_once() -> None:
    batch = ColumnBatch(pa.record_batch({f"a long name of column {n}": [n] for n in range(30)}))
    first, second, third = map(len, payloads(batch, batch, batch))
    assert second == third < first


def test_a_dictionary_goes_again_only_when_it_has_changed() -> None:
    long = "x" * 1000
    batches = [words(long, "b"), words(long, "b", "b", None), words("y"), words(long, "b")]
    sizes = [len(payload) for payload in payloads(*batches)]
    assert sizes[1] < 1000 < sizes[3]
    for before, after in zip(batches, through(*batches), strict=True):
        assert after.data == before.data
        assert pa.types.is_dictionary(after.data.schema.field("word").type)


@pytest.mark.parametrize(
    "kind",
    [Celsius(), pa.list_(Celsius()), pa.struct([("x", Celsius())]), pa.map_(pa.int8(), Celsius())],
    ids=["plain", "list", "struct", "map"],
)
def test_types_that_another_process_may_not_know_are_refused(kind) -> None:
    with pytest.raises(
        JobExecutionError, match=r"'degrees' is of the extension type .*cast it to double"
    ):
        check_columns(pa.schema([("ok", pa.int64()), ("degrees", kind)]))


def test_types_that_arrow_defines_are_sent() -> None:
    array = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)], pa.binary(16)))
    batch = ColumnBatch(pa.record_batch({"id": array}))
    assert through(batch)[0].data == batch.data
