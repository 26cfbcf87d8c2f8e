from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.common import Row, RowKind
from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch, in_form


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("dict", [{"x": 1, "y": "a"}, {"x": 2, "y": None}]),
        ("row", [Row(x=1, y="a"), Row(x=2, y=None)]),
        ("tuple", [(1, "a"), (2, None)]),
    ],
)
@pytest.mark.parametrize("times", [None, [5, 6]])
def test_columns_become_records(form, expected, times) -> None:
    data = pa.RecordBatch.from_pydict({"x": [1, 2], "y": ["a", None]})
    batch = ColumnBatch(data, None if times is None else pa.array(times), form=form)
    rows = batch.to_rows()
    assert (rows.values, rows.timestamps, len(batch), len(rows)) == (expected, times, 2, 2)
    assert batch.to_columns() is batch
    assert rows.to_rows() is rows
    again = rows.to_columns(form)
    assert again.to_rows() == rows
    for part in (batch.slice(1, 2).to_rows(), rows.slice(1, 2)):
        assert part == RowBatch(expected[1:], None if times is None else times[1:])


def test_plain_values_need_one_column() -> None:
    values = ColumnBatch(pa.RecordBatch.from_pydict({"z": [1, 2]}), form="value")
    assert values.to_rows().values == [1, 2]
    several = ColumnBatch(pa.RecordBatch.from_pydict({"x": [1], "y": [2]}), form="value")
    with pytest.raises(JobExecutionError, match='records="value" needs batches with one column'):
        several.to_rows()


def test_rows_keep_their_kinds() -> None:
    rows = [Row(x=1), Row.of_kind(RowKind.DELETE, x=2), Row.of_kind(RowKind.UPDATE_AFTER, x=3)]
    batch = RowBatch(rows).to_columns("row")
    assert batch.row_kinds.to_pylist() == [0, 3, 2]
    assert batch.to_rows().values == rows
    assert batch.slice(1, 3).to_rows().values == rows[1:]
    assert RowBatch(rows[:1]).to_columns("row").row_kinds is None


def test_only_rows_say_that_they_are_no_inserts() -> None:
    batch = RowBatch([Row.of_kind(RowKind.DELETE, x=2)]).to_columns("dict")
    with pytest.raises(JobExecutionError, match="cannot say that they update or delete others"):
        batch.to_rows()


@pytest.mark.parametrize(
    "other",
    [
        ColumnBatch(pa.RecordBatch.from_pydict({"y": [1]})),
        ColumnBatch(pa.RecordBatch.from_pydict({"x": ["a"]})),
        ColumnBatch(pa.RecordBatch.from_pydict({"x": [1]}), pa.array([1])),
        ColumnBatch(pa.RecordBatch.from_pydict({"x": [1]}), None, pa.array([1], pa.int8())),
        ColumnBatch(pa.RecordBatch.from_pydict({"x": [1]}), form="row"),
    ],
)
def test_what_cannot_be_one_batch(other) -> None:
    batch = ColumnBatch(pa.RecordBatch.from_pydict({"x": [1]}))
    assert batch.same_columns(ColumnBatch(pa.RecordBatch.from_pydict({"x": [2]})))
    assert not batch.same_columns(other)


@pytest.mark.parametrize("form", BatchForm)
def test_a_batch_that_has_a_form_already_stays_as_it_is(form) -> None:
    rows, columns = RowBatch([{"x": 1}]), ColumnBatch(pa.record_batch({"x": [1]}))
    assert (in_form(rows, form) is rows) == (form is not BatchForm.COLUMNS)
    assert (in_form(columns, form) is columns) == (form is not BatchForm.ROWS)
    assert in_form(rows, form).to_rows() == in_form(columns, form).to_rows() == rows


def test_batches_with_other_metadata_of_the_same_columns_can_be_one() -> None:
    data = pa.record_batch({"x": [1]})
    noted = data.replace_schema_metadata({"pandas": "index of 1"})
    assert ColumnBatch(data).same_columns(ColumnBatch(noted))


@pytest.mark.parametrize(
    ("kinds", "changes"),
    [(None, False), ([], False), ([0, 0], False), ([0, 3], True), ([1, 0], True)],
)
def test_a_batch_says_whether_it_has_more_than_inserts(kinds, changes) -> None:
    row_kinds = None if kinds is None else pa.array(kinds, pa.int8())
    data = pa.record_batch({"x": pa.array(kinds or [], pa.int64())})
    assert ColumnBatch(data, row_kinds=row_kinds).has_changes() is changes


def test_a_slice_has_only_the_changes_within_it() -> None:
    batch = ColumnBatch(pa.record_batch({"x": [1, 2, 3]}), row_kinds=pa.array([0, 0, 2], pa.int8()))
    assert not batch.slice(0, 2).has_changes()
    assert batch.slice(2, 3).has_changes()


def test_columns_are_filtered_with_their_times_and_kinds() -> None:
    data = pa.record_batch({"x": [1, 2, 3]})
    mask = pa.array([True, False, True])
    batch = ColumnBatch(data, pa.array([10, 20, 30]), pa.array([0, 1, 3], pa.int8()), "tuple")
    kept = batch.filter(mask)
    assert kept.data.to_pydict() == {"x": [1, 3]}
    assert kept.timestamps.to_pylist() == [10, 30]
    assert kept.row_kinds.to_pylist() == [0, 3]
    assert kept.form == "tuple"
    plain = ColumnBatch(data).filter(mask)
    assert (plain.timestamps, plain.row_kinds) == (None, None)
