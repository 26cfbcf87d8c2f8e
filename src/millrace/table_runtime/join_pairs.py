"""`JoinPairs`: builds pairs of matching rows, for window joins and interval joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.functions.metrics import MetricGroup
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import CompiledCalc
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.output import Output
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["JoinPairs", "JoinSpec", "milliseconds_of", "without_null"]

Flags = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class JoinSpec:
    """Settings of a join of two sides.

    Attributes:
        types: columns of both sides.
        keys: positions of the columns of each side that must be equal. NULL equals nothing.
        condition: the other join condition, over the left row followed by the right one.
        padded: whether unmatched rows of each side are emitted, padded with NULL.
        pairs: whether the result has pairs. Else it has rows of the left side alone.
        matched: without pairs, whether the result has the left rows with a match, or the left rows
            without one.
        output_type: columns of the result.
    """

    types: tuple[RowType, RowType]
    keys: tuple[tuple[int, ...], tuple[int, ...]]
    condition: ResolvedExpression | None
    padded: tuple[bool, bool]
    pairs: bool
    matched: bool
    output_type: RowType

    def shows_unmatched(self, side: int) -> bool:
        """Whether the result contains the unmatched rows of a side."""
        return self.padded[side] or (side == 0 and not self.pairs and not self.matched)


class JoinPairs:
    """Builds pairs of rows, and emits inserts.

    Args:
        session: session settings, for the condition.
        metric_group: metric group for the user's functions in the condition.
    """

    def __init__(
        self, spec: JoinSpec, session: SessionSettings, output: Output, metric_group: MetricGroup
    ) -> None:
        self._spec, self._output = spec, output
        columns = [field.type for row_type in spec.types for field in row_type.fields]
        both = RowType.of(*((f"f{index}", kind) for index, kind in enumerate(columns)))
        self._calc = CompiledCalc((), spec.condition, both, session)
        self._calc.open(metric_group)
        self._schema = schema_of(spec.output_type)

    def log(self, state: SubtaskState, uid: str, side: int, *numbers: str) -> RowLog:
        """State of one side: a log of its rows by key, with numbers per row."""
        log: RowLog = state.table(TableId(uid, "@right" if side else "@left"), ROW_LOG)
        values = [ValueColumn(np.dtype(np.int64), name=name) for name in numbers]
        log.bind(logged_rows(self._spec.types[side], self._spec.keys[side], values))
        return log

    def keys(self, side: int, data: pa.RecordBatch) -> list[pa.Array]:
        """Key columns of a side's rows."""
        return [data.column(index) for index in self._spec.keys[side]]

    def emit_pairs(self, left: pa.RecordBatch, right: pa.RecordBatch, now: int) -> Positions | None:
        """Emit the pairs that satisfy the condition, if the result has pairs.

        Returns:
            Positions of the pairs that satisfy the condition; None if all do.
        """
        kept, pairs = None, [*left.columns, *right.columns]
        if self._spec.condition is not None and left.num_rows:
            joined = pa.RecordBatch.from_arrays(pairs, [f"f{n}" for n in range(len(pairs))])
            kept = self._calc(joined, now)[1]
            if kept is not None and self._spec.pairs:
                pairs = [column.take(pa.array(kept)) for column in pairs]
        if self._spec.pairs:
            self._emit(pairs)
        return kept

    def emit_alone(self, side: int, data: pa.RecordBatch) -> None:
        """Emit single rows of one side. If the result has pairs, they are padded with NULLs."""
        columns = list(data.columns)
        if self._spec.pairs:
            fields = self._spec.types[1 - side].fields
            nulls = [pa.nulls(data.num_rows, arrow_type(field.type)) for field in fields]
            columns = [*nulls, *columns] if side else [*columns, *nulls]
        self._emit(columns)

    def _emit(self, columns: Sequence[pa.Array]) -> None:
        if len(columns[0]):
            data = pa.RecordBatch.from_arrays(list(columns), schema=self._schema)
            self._output.emit(ColumnBatch(data, None, None, "row"))


def without_null(columns: Sequence[pa.Array], count: int) -> Flags:
    """Flags of the rows in which no column is NULL."""
    complete = np.ones(count, np.bool_)
    for column in columns:
        if column.null_count:
            complete &= column.is_valid().to_numpy(zero_copy_only=False)
    return complete


def milliseconds_of(column: pa.Array) -> Times:
    """Times in ms since 1970. 0 for NULL."""
    times = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
    milliseconds: Times = times.fill_null(0).to_numpy(zero_copy_only=False)
    return milliseconds
