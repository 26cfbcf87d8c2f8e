"""Parquet, written and read."""

import io
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import (
    BulkWriter,
    JoiningBulkWriterFactory,
    RowDataBulkWriterFactory,
)
from millrace.common.types import Row
from millrace.common.types.typeinfo import Types
from millrace.formats import FileRange, ParquetBulkWriters, ParquetColumnarRowInputFormat
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.parquet import _first_group, _group_ranges


def write(factory: Any, *batches: list[Any]) -> pa.Table:
    stream = io.BytesIO()
    writer = factory.create(stream)
    for batch in batches:
        writer.add_elements(batch)
    writer.finish()
    return pq.read_table(io.BytesIO(stream.getvalue()))


def test_declared_columns_of_all_types(every_type: Any) -> None:
    row_type = every_type.row_type
    table = write(ParquetBulkWriters.for_row_type(row_type), [every_type.row], [[None] * 12])
    assert table.num_rows == 2
    read = [column.to_pylist()[0] for column in table.columns]
    assert read == every_type.from_arrow
    assert table.slice(1).to_pylist() == [dict.fromkeys(row_type.get_field_names())]


@pytest.mark.parametrize("record_type", [Row, dict])
def test_every_type_there_and_back(tmp_path: Path, every_type: Any, record_type: Any) -> None:
    row_type, path = every_type.row_type, str(tmp_path / "a.parquet")
    pq.write_table(write(ParquetBulkWriters.for_row_type(row_type), [every_type.row]), path)
    parquet = ParquetColumnarRowInputFormat(row_type, record_type=record_type)
    reader = parquet.open(path, FileRange(0, 1), None)
    (record,) = reader.read(10).values
    reader.close()
    expected = dict(zip(row_type.get_field_names(), every_type.row, strict=True))
    if record_type is dict:
        assert record == {**expected, "row": {"x": 7}}
    else:
        assert record == Row(**expected)


def test_columns_from_a_pyarrow_schema() -> None:
    schema = pa.schema([("a", pa.int8()), ("b", pa.string())])
    table = write(ParquetBulkWriters.for_arrow_schema(schema), [{"b": "x"}, (1, None)])
    assert table.schema.equals(schema)
    assert table.to_pylist() == [{"a": None, "b": "x"}, {"a": 1, "b": None}]


def test_columns_from_the_first_records() -> None:
    table = write(ParquetBulkWriters.for_row_type(), [{"a": 1}, Row(a=2, b="x")])
    assert table.to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_records_without_names_need_declared_columns() -> None:
    with pytest.raises(SerializationError, match="no field names"):
        write(ParquetBulkWriters.for_row_type(), [(1, 2)])


@pytest.mark.parametrize("record", [{"a": "x"}, {"a": 1 << 70}, {"a": 1.5}])
def test_a_value_that_does_not_fit_is_an_error(record: dict) -> None:
    row_type = Types.ROW_NAMED(["a"], [Types.LONG()])
    factory = ParquetBulkWriters.for_row_type(row_type)
    assert factory.get_row_type() == row_type
    with pytest.raises(SerializationError, match="do not fit the Parquet columns"):
        write(factory, [record])


def test_types_without_a_counterpart_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="no counterpart"):
        ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(JobDefinitionError, match="for_arrow_schema"):
        ParquetBulkWriters.for_row_type(pa.schema([]))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> str:
    rows = [{"a": i, "b": str(i)} for i in range(10)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet", row_group_size=3)
    return str(tmp_path / "x.parquet")


def test_columns_are_chosen_by_name(path: str) -> None:
    parquet = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["b"], [Types.STRING()]))
    reader = parquet.open(path, FileRange(1, 3), None)
    assert reader.read(2).to_rows().values == [Row(b="3"), Row(b="4")]
    assert reader.position() == 2
    reader.close()


@pytest.mark.parametrize("columnar", [False, True])
def test_a_column_that_a_file_does_not_have_is_none(path: str, columnar: bool) -> None:
    names = Types.ROW_NAMED(["z", "a"], [Types.STRING(), Types.LONG()])
    alone = ParquetColumnarRowInputFormat(names, columnar=columnar).open(path, FileRange(0, 1), 2)
    found = alone.read(1).to_rows().values
    assert [row["z"] for row in found] == [None]
    assert found[0]["a"] is not None


def test_row_groups_are_put_together_up_to_the_split_size() -> None:
    assert _group_ranges([40, 40, 40, 200, 10], 100) == [
        FileRange(0, 2),
        FileRange(2, 3),
        FileRange(3, 4),
        FileRange(4, 5),
    ]
    assert _group_ranges([], 100) == []


@pytest.mark.parametrize(
    ("position", "found"), [(0, (0, 0)), (2, (0, 0)), (3, (1, 3)), (4, (3, 4)), (9, (4, 9))]
)
def test_whole_row_groups_are_skipped(position: int, found: tuple[int, int]) -> None:
    assert _first_group([3, 1, 0, 5], position) == found


def test_what_does_not_fit_names_its_column_and_record() -> None:
    writers = ParquetBulkWriters.for_row_type(
        Types.ROW_NAMED(["name", "count"], [Types.STRING(), Types.LONG()])
    )
    writer = writers.create(io.BytesIO())
    writer.add_elements([Row(name="a", count=1), Row(name="b", count="many")])
    with pytest.raises(SerializationError, match=r"column 'count' \(int64\) of the record .*many"):
        writer.finish()


class FileThatEndsEarly:
    """Its metadata promise more rows than its batches have."""

    def __init__(self, file: pq.ParquetFile) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def iter_batches(self, *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        for batch in self._file.iter_batches(*args, **options):
            yield batch.slice(0, batch.num_rows - 1)


@pytest.mark.parametrize("columnar", [False, True])
@pytest.mark.parametrize("skip", [False, True])
def test_rows_that_are_missing_are_an_error_not_a_wait(
    tmp_path: Path, columnar: bool, skip: bool
) -> None:
    path = str(tmp_path / "f.parquet")
    pq.write_table(pa.table({"i": list(range(10))}), path, row_group_size=5)
    reader = ParquetColumnarRowInputFormat(columnar=columnar).open(path, FileRange(0, 2), None)
    reader._file = FileThatEndsEarly(reader._file)  # type: ignore[attr-defined]
    errors: list[MalformedRecordError] = []
    if skip:
        reader.on_malformed = errors.append
    rows = 0
    with nullcontext() if skip else pytest.raises(SerializationError, match="rows are missing"):
        for _ in range(10):
            rows += len(reader.read(100))
            if reader.finished():
                break
    assert reader.finished() is skip
    if skip:
        assert (rows, len(errors)) == (8, 2)


@pytest.mark.parametrize("step", [1, 2, 100])
def test_texts_that_are_none_are_passed_over_in_columns(tmp_path: Path, step: int) -> None:
    """Nobody would notice them before they become Python objects, far from the file's name."""
    texts = pa.array([b"a", b"\xe7", b"b", b"\xff", b"c"], pa.binary())
    column = pa.Array.from_buffers(pa.string(), 5, texts.buffers())
    nested = pa.StructArray.from_arrays([column], ["t"])
    path = str(tmp_path / "data.parquet")
    pq.write_table(pa.table({"t": nested, "i": [0, 1, 2, 3, 4]}), path)
    reader = ParquetColumnarRowInputFormat(columnar=True, record_type=dict)
    opened = reader.open(path, FileRange(0, 1), None)
    errors: list[MalformedRecordError] = []
    opened.on_malformed = errors.append
    values: list[Any] = []
    while not opened.finished():
        values += opened.read(step).to_rows().values
    assert values == [{"t": {"t": t}, "i": i} for t, i in (("a", 0), ("b", 2), ("c", 4))]
    assert [error.offset for error in errors] == [1, 3]
    opened.close()


def test_a_footer_with_names_that_are_no_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"column": [1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"column", b"col\xffmn"))
    with pytest.raises(SerializationError, match="not a complete Parquet file"):
        ParquetColumnarRowInputFormat().open(str(path), FileRange(0, 1), None)


def test_a_factory_of_a_row_type_need_not_join_files() -> None:
    class Factory(RowDataBulkWriterFactory[Any]):
        def create(self, stream: BinaryIO) -> BulkWriter[Any]:
            raise NotImplementedError

        def get_row_type(self) -> None:
            return None

    assert not isinstance(Factory(), JoiningBulkWriterFactory)


def test_a_size_of_batches_in_its_former_place_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="hadoop_config must be a Configuration, not 512"):
        ParquetColumnarRowInputFormat(None, 512)  # type: ignore[arg-type]
