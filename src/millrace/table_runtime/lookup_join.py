"""`LookupJoinOperator`: joins each row with the rows that a table has for its key at that moment.

The distinct keys of a batch are looked up at once. It has no state. Flink: ``LookupJoin``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.functions.lookup_functions import AsyncLookupFunction, LookupFunction
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import CompiledCalc
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.multi_index import ranges
from millrace.state.columns.slot_table import SlotTable
from millrace.table_runtime.columns import column_of, schema_of
from millrace.table_runtime.join_pairs import without_null
from millrace.table_runtime.lookups import LookupBehaviour, Lookups

__all__ = ["LookupJoinOperator", "LookupJoinSpec"]

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LookupJoinSpec:
    """Settings of a lookup join.

    Attributes:
        types: columns of the left rows, and of the looked-up rows.
        keys: positions of the keys in the left row.
        shown: number of the left row's first columns that the result has.
        columns: columns of the right side, as expressions over a looked-up row.
        there: filter of the looked-up rows. None if all rows pass.
        condition: the other join condition, over the shown columns and the right side's columns.
        padded: whether left rows without a match are emitted, padded with NULL.
        output_type: columns of the result.
    """

    types: tuple[RowType, RowType]
    keys: tuple[int, ...]
    shown: int
    columns: tuple[ResolvedExpression, ...]
    there: ResolvedExpression | None
    condition: ResolvedExpression | None
    padded: bool
    output_type: RowType


class LookupJoinOperator(Operator):
    """Joins a changelog with a lookup table.

    Args:
        spec: settings of the join.
        function: function that looks up keys.
        settings: settings of the lookups.
        session: session settings, for conditions.
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self,
        spec: LookupJoinSpec,
        function: LookupFunction | AsyncLookupFunction,
        settings: LookupBehaviour,
        session: SessionSettings,
    ) -> None:
        self._spec, self._function, self._settings = spec, function, settings
        self._right = CompiledCalc(spec.columns, spec.there, spec.types[1], session)
        left = [field.type for field in spec.types[0].fields[: spec.shown]]
        kinds = [*left, *(expression.output_type for expression in spec.columns)]
        both = RowType.of(*((f"f{index}", kind) for index, kind in enumerate(kinds)))
        self._calc = CompiledCalc((), spec.condition, both, session)

    def open(self) -> None:
        for calc in (self._right, self._calc):
            calc.open(RegisteredGroup(self.context.metrics))
        self._lookups = Lookups(self._function, self._settings, self.context.metrics)
        self._schema = schema_of(self._spec.output_type)
        self._now = 0

    def close(self) -> None:
        self._lookups.close()

    def advance_processing_time(self, now: int) -> None:
        self._now = now

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, spec = batch.data, self._spec
        if not data.num_rows:
            return
        keys = [data.column(index) for index in spec.keys]
        able = np.flatnonzero(without_null(keys, data.num_rows))
        distinct, which = _distinct([key.take(pa.array(able)) for key in keys])
        right, counts = self._found(distinct)
        starts = np.cumsum(counts) - counts
        rows = ranges(starts.take(which), counts.take(which))
        owners = np.repeat(able, counts.take(which))
        mine = data.columns[: spec.shown]
        if spec.condition is not None and rows.size:
            pairs = [
                *(column.take(pa.array(owners)) for column in mine),
                *(column.take(pa.array(rows)) for column in right),
            ]
            joined = pa.RecordBatch.from_arrays(pairs, [f"f{n}" for n in range(len(pairs))])
            kept = self._calc(joined, self._now)[1]
            if kept is not None:
                rows, owners = rows[kept], owners[kept]
        if spec.padded:
            alone = np.ones(data.num_rows, np.bool_)
            alone[owners] = False
            unmatched = np.flatnonzero(alone)
            owners = np.concatenate([owners, unmatched])
            rows = np.concatenate([rows, np.full(unmatched.size, -1)])
            order = np.argsort(owners, kind="stable")
            owners, rows = owners[order], rows[order]
        if not owners.size:
            return
        partners = pa.array(rows, mask=rows < 0)
        where = pa.array(owners)
        columns = [column.take(where) for column in mine]
        columns += [column.take(partners) for column in right]
        kinds = None if batch.row_kinds is None else batch.row_kinds.take(where)
        result = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit(ColumnBatch(result, None, kinds, "row"))

    def _found(self, keys: list[tuple[Any, ...]]) -> tuple[list[pa.Array], Numbers]:
        """Columns of the right side's rows of all keys, and the number of rows of each key."""
        kind = self._spec.types[1]
        of_keys = self._lookups.rows(keys, self._now)
        rows = [row for key_rows in of_keys for row in key_rows]
        counts: Numbers = np.array([len(key_rows) for key_rows in of_keys], np.int64)
        arrays = [
            column_of([row[place] for row in rows], field)
            for place, field in enumerate(kind.fields)
        ]
        data = pa.RecordBatch.from_arrays(arrays, schema=schema_of(kind))
        right, kept = self._right(data, self._now)
        if kept is not None:
            owners = np.repeat(np.arange(len(keys)), counts).take(kept)
            counts = np.bincount(owners, minlength=len(keys))
        return right, counts


def _distinct(columns: Sequence[pa.Array]) -> tuple[list[tuple[Any, ...]], Positions]:
    """Distinct rows of columns as Python values, and for each row the position of its distinct
    row."""
    table = SlotTable()
    table.bind(ColumnsOf(tuple(column.type for column in columns)))
    slots = table.slots_of(columns, create=True)
    live = table.live_slots()
    values = [column.to_pylist() for column in table.keys_at(live)]
    return list(zip(*values, strict=True)), np.searchsorted(live, slots)
