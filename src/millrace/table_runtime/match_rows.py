"""`RowColumns`: the values of rows that matches keep, computed for whole batches.

A row that may be part of a match is a tuple: first the bits of the conditions that it satisfies by
itself, then values of expressions over it. Values are plain Python objects. Times are the numbers
that Arrow stores, which compare alike and need no conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import Evaluator, compiled
from millrace.expressions.resolved import FieldReference, ResolvedExpression
from millrace.expressions.session_settings import SessionSettings

__all__ = ["MatchedRow", "RowColumns", "column_of", "plain_values"]

MatchedRow = tuple[Any, ...]


def plain_values(column: pa.Array) -> list[Any]:
    """Values of a column, with times as numbers."""
    number = _number_type(column.type)
    values: list[Any] = (column if number is None else column.view(number)).to_pylist()
    return values


def column_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Column of the `plain_values`."""
    number = _number_type(kind)
    return pa.array(values, kind) if number is None else pa.array(values, number).view(kind)


def _number_type(kind: pa.DataType) -> pa.DataType | None:
    if not pa.types.is_temporal(kind) or pa.types.is_interval(kind):
        return None
    return pa.int32() if kind.bit_width == 32 else pa.int64()


class RowColumns:
    """Computes the conditions and values of rows.

    Args:
        input_type: columns of the rows.
        session: settings of expressions.

    Example:
        >>> from millrace.common.types.logical.logical_type import BigIntType
        >>> price = FieldReference(0, BigIntType(), "price")
        >>> rows = RowColumns(RowType.of(("price", BigIntType())), SessionSettings())
        >>> rows.place(price), rows.place(price)
        (1, 1)
        >>> batch = pa.record_batch({"price": [7, 8]})
        >>> rows.tuples(batch, np.array([0, 1]))
        [(0, 7), (1, 8)]
    """

    def __init__(self, input_type: RowType, session: SessionSettings) -> None:
        self.input_type = input_type
        self.session = session
        self._places: dict[ResolvedExpression, int] = {}
        self._values: list[Evaluator | int] = []
        self._conditions: dict[ResolvedExpression, Evaluator] = {}
        self.instant: int | None = None
        """Time of NOW and similar functions, in ms since 1970."""
        self.types: list[pa.DataType] = [pa.int64()]
        """Types of the values in a row's tuple."""

    def place(self, expression: ResolvedExpression) -> int:
        """Position of an expression's value in a row's tuple."""
        if isinstance(expression, FieldReference):
            expression = FieldReference(expression.index, expression.type.with_nullable(True))
        known = self._places.get(expression)
        if known is None:
            known = self._places[expression] = len(self._values) + 1
            if isinstance(expression, FieldReference):
                self._values.append(expression.index)
            else:
                self._values.append(compiled(expression, self.input_type, self.session))
            self.types.append(arrow_type(expression.output_type))
        return known

    def condition(self, expression: ResolvedExpression) -> int:
        """The bit that stands for a condition."""
        if expression not in self._conditions:
            evaluator = compiled(expression, self.input_type, self.session)
            self._conditions[expression] = evaluator
        return 1 << list(self._conditions).index(expression)

    def bits(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """For each row, the bits of the conditions that it satisfies."""
        bits = np.zeros(batch.num_rows, np.int64)
        for number, condition in enumerate(self._conditions.values()):
            true = pc.fill_null(condition(batch, self.instant), False)
            bits |= true.to_numpy(zero_copy_only=False).astype(np.int64) << number
        return bits

    def tuples(self, batch: pa.RecordBatch, bits: npt.NDArray[np.int64]) -> list[MatchedRow]:
        """The batch's rows as `MatchedRow` tuples."""
        columns = [
            plain_values(
                batch.column(source) if isinstance(source, int) else source(batch, self.instant)
            )
            for source in self._values
        ]
        return list(zip(bits.tolist(), *columns, strict=True))
