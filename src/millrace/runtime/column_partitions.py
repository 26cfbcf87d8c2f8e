"""Divides columnar batches among the targets of an exchange, and joins batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import ColumnBatch

Part = tuple[int, ColumnBatch]
"""A target and its records."""


def joined(batches: Sequence[ColumnBatch]) -> Sequence[ColumnBatch]:
    """Batches of one schema as one batch. Unchanged if one batch cannot hold all rows."""
    first = batches[0]
    if len(batches) == 1:
        return batches
    try:
        data = pa.concat_batches([batch.data for batch in batches])
    except pa.ArrowException:  # of dictionaries with small indices, for example
        return batches
    times = kinds = None
    if first.timestamps is not None:
        times = pa.concat_arrays([batch.timestamps for batch in batches])
    if first.row_kinds is not None:
        kinds = pa.concat_arrays([batch.row_kinds for batch in batches])
    return [ColumnBatch(data, times, kinds, first.form)]


def by_target(batch: ColumnBatch, targets: npt.NDArray[np.unsignedinteger[Any]]) -> Iterator[Part]:
    """Records for each target, in order. ``targets`` has one number per record."""
    counts = np.bincount(targets)
    if counts.max(initial=0) == len(batch):
        if len(batch):
            yield int(targets[0]), batch
        return
    # small numbers are sorted by radix, so this is faster than one filter per target
    ordered = taken(batch, np.argsort(targets, kind="stable"))
    end = 0
    for target in np.flatnonzero(counts):
        start, end = end, end + int(counts[target])
        yield int(target), ordered.slice(start, end)


def in_turn(batch: ColumnBatch, targets: Sequence[int], first: int) -> Iterator[Part]:
    """Equal parts of a batch for all targets, in turn from the target at position ``first`` on. If
    the batch cannot be divided equally, the first targets get one record more.
    """
    width, end = len(targets), 0
    size, rest = divmod(len(batch), width)
    for number in range(width):
        start, end = end, end + size + (number < rest)
        if start < end:
            yield targets[(first + number) % width], batch.slice(start, end)


def taken(batch: ColumnBatch, rows: npt.NDArray[np.intp]) -> ColumnBatch:
    """The records of a batch at the given positions.

    Raises:
        JobExecutionError: Arrow cannot take single values from a column.
    """
    indices = pa.array(rows)
    times, kinds = batch.timestamps, batch.row_kinds
    columns = [
        _taken(column, indices, batch.data, i) for i, column in enumerate(batch.data.columns)
    ]
    data = batch.data.slice(0, len(rows))  # without columns only their number counts
    if columns:
        data = pa.RecordBatch.from_arrays(columns, schema=batch.data.schema)
    return ColumnBatch(
        data,
        None if times is None else times.take(indices),
        None if kinds is None else kinds.take(indices),
        batch.form,
    )


def _taken(column: pa.Array, indices: pa.Array, data: pa.RecordBatch, position: int) -> pa.Array:
    kind = column.type
    # Arrow cannot take from views yet
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string()).take(indices).cast(kind)
    if pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary()).take(indices).cast(kind)
    try:
        return column.take(indices)
    except pa.ArrowException as error:
        raise JobExecutionError(
            f"column {data.schema.names[position]!r} of type {kind} cannot be divided among "
            f"subtasks ({error}); cast it to another type"
        ) from error
