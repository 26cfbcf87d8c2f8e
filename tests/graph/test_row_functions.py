"""Functions of batches, without Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import UserFunctionError
from millrace.graph.column_type import declared_column_type
from millrace.graph.elements import Vertex
from millrace.graph.row_functions import (
    FilterRows,
    FlatMapGroups,
    GroupVertex,
    MapRows,
    ReduceValues,
    RowReader,
)

LONG, TEXT = declared_column_type(int), declared_column_type(str)
READER = RowReader((0, 1), (LONG, LONG), Vertex)


def batches(*rows: tuple[int, int], size: int = 2) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), size):
        ids, values = zip(*rows[start : start + size], strict=True)
        yield pa.RecordBatch.from_pydict({"id": list(ids), "value": list(values)})


def content(made: Iterator[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in made for row in batch.to_pylist()]


def test_rows_are_mapped_and_filtered() -> None:
    double = MapRows("map_vertices", lambda vertex: vertex.value * 2, READER, (0,), LONG)
    assert content(double(batches((1, 10), (2, 20), (3, 30)))) == [(1, 20), (2, 40), (3, 60)]
    large = FilterRows("filter", lambda vertex: vertex.value > 15, READER)
    assert content(large(batches((1, 10), (2, 20)))) == [(2, 20)]


@pytest.mark.parametrize(
    "make", [np.asarray, list, pa.array, lambda column: pa.chunked_array([column])], ids=range(4)
)
def test_vectorised_functions_return_any_kind_of_array(make: Any) -> None:
    def function(batch: pa.RecordBatch) -> Any:
        return make(batch["value"])

    run = MapRows("map_vertices", function, READER, (0,), declared_column_type(float), True)
    assert content(run(batches((1, 10)))) == [(1, 10.0)]


def test_a_vectorised_function_that_returns_too_little() -> None:
    run = MapRows("map_vertices", lambda batch: [1], READER, (0,), LONG, True)
    with pytest.raises(UserFunctionError, match="returned 1 values for 2 rows"):
        content(run(batches((1, 10), (2, 20))))
    text = MapRows("map_vertices", lambda batch: ["x", "y"], READER, (0,), LONG, True)
    with pytest.raises(UserFunctionError, match="a column of string, and LONG is wanted"):
        content(text(batches((1, 10), (2, 20))))


def test_values_are_reduced_in_two_steps() -> None:
    draw = random.Random(1)
    rows = [(draw.randrange(5), draw.randrange(100)) for _ in range(50)]
    run = ReduceValues("reduce_on_edges", lambda one, other: one + other, LONG, LONG)
    parts = [batch for half in (rows[:25], rows[25:]) for batch in run(batches(*half))]
    sums: dict[int, int] = {}
    for key, value in rows:
        sums[key] = sums.get(key, 0) + value
    assert dict(content(run(iter(parts)))) == sums


def test_groups_go_on_from_batch_to_batch() -> None:
    reader = RowReader((1,), (LONG,), None)
    run = FlatMapGroups("group", lambda key, rows: [f"{key}:{rows}"], 0, LONG, reader, TEXT)
    rows = [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30)]
    made = [row for (row,) in content(run(batches(*rows)))]
    assert made == ["1:[10, 11, 12]", "2:[20]", "3:[30]"]
    assert content(run(iter([]))) == []


def test_a_group_begins_with_its_vertex() -> None:
    table = {"id": [1, 2, 2], "value": [7, 8, None], "tag": [0, 0, 1], "edge": [None, None, 5]}
    batch = pa.RecordBatch.from_pydict(table)
    head = GroupVertex(2, 1, LONG)
    reader = RowReader((3,), (LONG,), None)
    run = FlatMapGroups(
        "group",
        lambda vertex, rows: [f"{vertex.value}:{rows}"],
        0,
        LONG,
        reader,
        TEXT,
        head,
        Vertex,
    )
    assert [row for (row,) in content(run(iter([batch])))] == ["7:[]", "8:[5]"]


def test_an_error_names_the_row() -> None:
    run = MapRows("map_vertices", lambda vertex: 1 // (vertex.id - 2), READER, (0,), LONG)
    with pytest.raises(UserFunctionError) as failed:
        content(run(batches((1, 10), (2, 20))))
    assert failed.value.record == "Vertex(id=2, value=20)"
    assert "ZeroDivisionError" in failed.value.user_traceback
