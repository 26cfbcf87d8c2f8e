"""Ranks of rows: sorting by partition and order, and rank numbers. Used by rank and sort
operators."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.expressions.resolved import SortKey
from millrace.state.columns.fingerprints import fingerprints
from millrace.state.columns.hash_index import Positions

__all__ = ["Numbers", "equal_pairs", "orderable", "ranks_of", "sorted_positions", "without_row"]

Numbers = npt.NDArray[np.int64]


def sorted_positions(
    data: pa.RecordBatch, keys: Sequence[SortKey], owners: Numbers, ties: Numbers
) -> Positions:
    """Positions of the rows when they are sorted by owner, then by the keys, then by ``ties``.

    Example:
        >>> rows = pa.record_batch({"x": [2, None, 1]})
        >>> none = np.zeros(3, np.int64)
        >>> sorted_positions(rows, [SortKey(0)], none, np.arange(3)).tolist()
        [1, 2, 0]
    """
    columns, order = {"owner": pa.array(owners)}, [("owner", "ascending")]
    for number, key in enumerate(keys):
        column = data.column(key.index)
        columns[f"n{number}"] = column.is_null()
        columns[f"v{number}"] = orderable(column)
        # False before True: rows without a value come first if their mark sorts downwards
        order.append((f"n{number}", "descending" if key.nulls_first else "ascending"))
        order.append((f"v{number}", "ascending" if key.ascending else "descending"))
    columns["tie"] = pa.array(ties)
    order.append(("tie", "ascending"))
    indices = pc.sort_indices(pa.table(columns), sort_keys=order)
    positions: Positions = indices.to_numpy().astype(np.int64)
    return positions


def orderable(column: pa.Array) -> pa.Array:
    """A column that Arrow can sort. Numbers take the place of arrays, of rows, and of columns with
    NaN: all NaN are equal and greater than all other values, as in Java.

    They are ordered by their first part that differs, nulls first; of two arrays of which one is
    the beginning of the other, the shorter one comes first.

    Raises:
        JobExecutionError: there are maps in the column, which have no order.

    Example:
        >>> orderable(pa.array([[2, 1], None, [1, 3], [1]])).to_pylist()
        [2, None, 1, 0]
    """
    if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
        values = column.to_numpy(zero_copy_only=False)
        return pa.array(np.unique(values, return_inverse=True)[1], mask=_flags(column.is_null()))
    if not pa.types.is_nested(column.type):
        return column
    keys = [None if value is None else _parts(value) for value in column.to_pylist()]
    places = {key: place for place, key in enumerate(sorted({k for k in keys if k is not None}))}
    return pa.array([None if key is None else places[key] for key in keys], pa.int64())


def _flags(column: pa.Array) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
    return flags


def _parts(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, *map(_parts, value.values()))
    if not isinstance(value, list):
        return 1, value
    if any(isinstance(item, tuple) for item in value):
        raise JobExecutionError("maps have no order: sort by something else")
    return (1, *map(_parts, value))


def ranks_of(kind: str, owners: Numbers, columns: Sequence[pa.Array], order: Positions) -> Numbers:
    """Rank of each row. ``owners`` has the owner of each of the sorted rows.

    Args:
        columns: columns of the order, of the unsorted rows.
        order: positions of the sorted rows.
    """
    places = np.arange(owners.size)
    begins = np.ones(owners.size, np.bool_)
    begins[1:] = owners[1:] != owners[:-1]
    first = np.maximum.accumulate(np.where(begins, places, 0))
    if kind == "ROW_NUMBER":
        return places - first + 1
    differs = begins.copy()
    for column in columns:
        differs[1:] |= _steps(orderable(column).take(pa.array(order)))
    if kind == "RANK":
        ties: Numbers = np.maximum.accumulate(np.where(differs, places, 0))
        return ties - first + 1
    groups: Numbers = np.cumsum(differs)
    return groups - groups.take(first) + 1


def _steps(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Flags of the values that differ from the value before. NULL equals NULL."""
    left, right = column.slice(0, len(column) - 1), column.slice(1)
    differ = pc.fill_null(pc.not_equal(left, right), False)
    nulls = pc.not_equal(left.is_null(), right.is_null())
    steps: npt.NDArray[np.bool_] = pc.or_(differ, nulls).to_numpy(zero_copy_only=False)
    return steps


def equal_pairs(
    held: Sequence[pa.Array], held_slots: Numbers, gone: Sequence[pa.Array], gone_slots: Numbers
) -> Positions:
    """Positions of the ``held`` rows that are to be retracted: for each row of ``gone``, one row
    with equal values and slot, if there is one left.
    """
    count = held_slots.size
    if not count or not gone_slots.size:
        return np.zeros(0, np.int64)
    columns = [pa.concat_arrays([one, two]) for one, two in zip(held, gone, strict=True)]
    columns.append(pa.array(np.concatenate([held_slots, gone_slots])))
    order, begins = _runs(columns, count + gone_slots.size)
    numbers = np.cumsum(begins) - 1
    is_gone = order >= count
    wanted = np.bincount(numbers[is_gone], minlength=int(numbers[-1]) + 1)
    # lexsort is stable: in a run of equal rows those held come first, the oldest leading
    first = np.maximum.accumulate(np.where(begins, np.arange(order.size), 0))
    taken = ~is_gone & (np.arange(order.size) - first < wanted.take(numbers))
    return order[taken]


def without_row(
    held: Sequence[pa.Array], changes: Sequence[pa.Array], signs: npt.NDArray[np.int8]
) -> npt.NDArray[np.bool_]:
    """Flags of the retractions for which neither a held row nor an earlier change exists.

    Args:
        signs: signs of the changes in their order: 1 adds a row, -1 retracts a row.
    """
    count = len(held[0])
    columns = [pa.concat_arrays([one, two]) for one, two in zip(held, changes, strict=True)]
    order, begins = _runs(columns, count + signs.size)
    steps = np.concatenate([np.ones(count, np.int64), signs.astype(np.int64)]).take(order)
    sums = np.cumsum(steps)
    numbers = np.cumsum(begins) - 1
    # sums within a run, from 0; the lowest so far, never above 0; runs kept apart by their distance
    balance = sums - (sums - steps)[begins].take(numbers)
    apart = numbers * (2 * order.size + 2)
    lowest = np.minimum.accumulate(np.minimum(balance, 0) - apart) + apart
    before = np.where(begins, 0, np.roll(lowest, 1))
    unmatched = np.zeros(order.size, np.bool_)
    unmatched[order] = (steps < 0) & (balance < before)
    return unmatched[count:]


def _runs(columns: Sequence[pa.Array], count: int) -> tuple[Positions, npt.NDArray[np.bool_]]:
    """Order that puts equal rows side by side and otherwise keeps the order, and flags of the
    first row of each run."""
    seeds = (secrets.randbits(64), secrets.randbits(64))
    words = fingerprints(columns, count, seeds)
    order = np.lexsort(words[::-1])
    begins = np.ones(order.size, np.bool_)
    begins[1:] = False
    for word in words:
        values = word.take(order)
        begins[1:] |= values[1:] != values[:-1]
    return order, begins
