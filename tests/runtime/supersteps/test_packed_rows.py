"""Rows of a graph in pieces of bytes, on their way to their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from millrace.runtime.supersteps.packed_rows import ENOUGH_BYTES, GraphTypes, RowPacker, unpacked

TYPES = GraphTypes(pa.string(), pa.list_(pa.int64()), pa.float64())


def batches(tasks: int, count: int) -> list[Any]:
    """Edges, the value of each tenth of which is missing."""
    made = []
    for start in range(0, count, 100):
        numbers = range(start, min(start + 100, count))
        made.append(
            pa.record_batch(
                {
                    "owner": pa.array([number % tasks for number in numbers], pa.int32()),
                    "source": [f"v{number}" for number in numbers],
                    "target": [f"v{number + 1}" for number in numbers],
                    "target_owner": pa.array([(n + 1) % tasks for n in numbers], pa.int32()),
                    "value": [n / 2 if n % 10 else None for n in numbers],
                }
            )
        )
    return made


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("at_once", [0, 10_000, 1 << 24])
def test_rows_arrive_at_their_tasks(tasks: int, at_once: int) -> None:
    """However small the pieces have to be."""
    pieces = list(RowPacker(TYPES.edge_schema, True, tasks, at_once)(batches(tasks, 10_000)))
    table = pa.Table.from_batches(pieces)
    arrived = []
    for task in range(tasks):
        own = table.filter(pa.compute.equal(table["owner"], task))
        for is_edge, rows in unpacked(own.to_batches(), TYPES):
            assert is_edge
            assert rows.nbytes * at_once <= 1 << 30 or len(rows) == 1
            arrived += [(task, *row.values()) for row in rows.to_pylist()]
    wanted = [tuple(row.values()) for batch in batches(tasks, 10_000) for row in batch.to_pylist()]
    assert sorted(arrived, key=lambda row: row[1]) == sorted(wanted, key=lambda row: row[1])


def test_vertices_have_the_declared_types() -> None:
    vertices = pa.record_batch(
        {
            "owner": pa.array([0, 0], pa.int32()),
            "id": pa.array(["a", "b"], pa.large_string()),
            "value": pa.array([[1], None], pa.list_(pa.int32())),
        }
    )
    pieces = RowPacker(TYPES.vertex_schema, False, 1)([vertices])
    [(is_edge, rows)] = unpacked(pieces, TYPES)
    assert not is_edge
    assert rows.schema == TYPES.vertex_schema
    assert rows["value"].to_pylist() == [[1], None]
    assert not list(RowPacker(TYPES.vertex_schema, False, 1)([vertices.slice(0, 0)]))


def test_wide_rows_do_not_pile_up() -> None:
    """Pieces come before all rows are read, though they are few for so many tasks."""
    types = GraphTypes(pa.int64(), pa.binary())
    vertex = {"owner": pa.array([0], pa.int32()), "id": [1], "value": [bytes(ENOUGH_BYTES // 2)]}
    read: list[int] = []

    def wide() -> Iterator[Any]:
        for number in range(4):
            read.append(number)
            yield pa.record_batch(vertex)

    reads = [len(read) for _ in RowPacker(types.vertex_schema, False, 64)(wide())]
    assert reads == [2, 4]
