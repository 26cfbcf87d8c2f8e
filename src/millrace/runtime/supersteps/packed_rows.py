"""Vertices and edges on their way to their tasks: many rows as one piece of bytes, so that Spark
shuffles a few values instead of millions of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["OWNER", "PIECES", "GraphTypes", "RowPacker", "unpacked"]

OWNER = "owner"
"""Column with the number of the task to which a row goes."""
_IS_EDGE, _ROWS = "is_edge", "rows"
PIECES = pa.schema([(OWNER, pa.int32()), (_IS_EDGE, pa.bool_()), (_ROWS, pa.binary())])
"""Columns of pieces."""
_PIECE_BYTES = 1 << 20
_ROWS_OF_TASK = 1 << 12
"""Rows that are collected for each task before they become a piece, if there are so many."""
_MOST_ROWS = 1 << 18
ENOUGH_BYTES = 1 << 26
"""Bytes of rows that are collected, however few the rows are: values may be wide."""


@dataclass(frozen=True, slots=True)
class GraphTypes:
    """Arrow types of a graph's ids and values. A type of values is None if there are none."""

    ids: Any
    vertex_values: Any = None
    edge_values: Any = None

    @property
    def vertex_schema(self) -> pa.Schema:
        """Columns of vertices."""
        return _with_value([("id", self.ids)], self.vertex_values)

    @property
    def edge_schema(self) -> pa.Schema:
        """Columns of edges, with the number of the task that has the target."""
        columns = [("source", self.ids), ("target", self.ids), ("target_owner", pa.int32())]
        return _with_value(columns, self.edge_values)


def _with_value(columns: list[tuple[str, Any]], value: Any) -> pa.Schema:
    return pa.schema(columns if value is None else [*columns, ("value", value)])


@dataclass(frozen=True, slots=True)
class RowPacker:
    """Function that packs vertices or edges.

    Args:
        schema: columns of a packed row.
        is_edge: whether rows are edges.
        tasks: number of tasks.
        batch_rows: pieces that Spark may hand over at once, all of which are in memory then. None
            for any number.
    """

    schema: Any
    is_edge: bool
    tasks: int
    batch_rows: int | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Pieces of the rows.

        Args:
            batches: record batches with a column ``owner`` and the schema's columns.
        """
        least = min(self.tasks * _ROWS_OF_TASK, _MOST_ROWS)
        for rows in gathered(batches, least):
            owners = rows.column(OWNER).to_numpy()
            order = np.argsort(owners, kind="stable")
            bounds = np.searchsorted(owners[order], np.arange(self.tasks + 1))
            columns = [rows.column(field.name).cast(field.type) for field in self.schema]
            packed = pa.RecordBatch.from_arrays(columns, schema=self.schema).take(pa.array(order))
            pieces = [
                (task, piece)
                for task, (low, high) in enumerate(pairwise(bounds.tolist()))
                for piece in self._pieces(packed.slice(low, high - low))
            ]
            yield pa.record_batch(
                [
                    pa.array([task for task, _ in pieces], pa.int32()),
                    pa.array([self.is_edge] * len(pieces), pa.bool_()),
                    pa.array([piece for _, piece in pieces], pa.binary()),
                ],
                schema=PIECES,
            )

    def _pieces(self, rows: Any) -> Iterator[Any]:
        if not len(rows):
            return
        most = min(_PIECE_BYTES, (1 << 30) // max(self.batch_rows or 1, 1))
        step = max(most * len(rows) // max(rows.nbytes, 1), 1)
        for start in range(0, len(rows), step):
            yield memoryview(rows.slice(start, step).serialize())


def gathered(batches: Iterable[Any], least: int, enough_bytes: int = ENOUGH_BYTES) -> Iterator[Any]:
    """The rows of record batches in larger batches, each with at least a number of rows or bytes.
    The last batch may be smaller.
    """
    waiting: list[Any] = []
    count = size = 0
    for batch in batches:
        waiting.append(batch)
        count += len(batch)
        size += batch.nbytes
        if count >= least or size >= enough_bytes:
            yield pa.concat_batches(waiting)
            waiting, count, size = [], 0, 0
    if count:
        yield pa.concat_batches(waiting)


def unpacked(pieces: Iterable[Any], types: GraphTypes) -> Iterator[tuple[bool, Any]]:
    """For each piece, whether its rows are edges, and the rows as a record batch.

    Args:
        pieces: record batches of pieces.
    """
    schemas = {True: types.edge_schema, False: types.vertex_schema}
    for batch in pieces:
        for is_edge, rows in zip(
            batch.column(_IS_EDGE).to_pylist(), batch.column(_ROWS), strict=True
        ):
            yield is_edge, pa.ipc.read_record_batch(rows.as_buffer(), schemas[is_edge])
