"""Functions of edges: filters, maps and directions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.graph.streams.edge_columns import CHANGE, SOURCE, TARGET, VALUE
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.operator import Operator

__all__ = [
    "EdgeFilterOperator",
    "EdgeMapOperator",
    "LengthsOperator",
    "ReverseOperator",
    "VertexFilterOperator",
]


class _FilterOperator(FunctionOperator):
    takes = BatchForm.COLUMNS

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if len(batch):
            kept = batch.filter(pa.array(self._mask(batch.data), pa.bool_()))
            if len(kept):
                self.output.emit(kept)

    @abstractmethod
    def _mask(self, data: pa.RecordBatch) -> list[bool]:
        """Whether each edge stays."""


class EdgeFilterOperator(_FilterOperator):
    """Keeps the edges for which a function of source, target and value is true."""

    def _mask(self, data: pa.RecordBatch) -> list[bool]:
        return [bool(self.function(*edge)) for edge in _edges(data)]


class VertexFilterOperator(_FilterOperator):
    """Keeps the edges if a function is true for both ends."""

    def _mask(self, data: pa.RecordBatch) -> list[bool]:
        func = self.function
        return [bool(func(one) and func(other)) for one, other, _ in _edges(data)]


class EdgeMapOperator(FunctionOperator):
    """Sets the values of edges.

    Args:
        function: function of source, target and value.
        kind: type of the values.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, function: Callable[[Any, Any, Any], Any], kind: pa.DataType) -> None:
        super().__init__(function)
        self._kind = kind

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data = batch.data
        mapped = [self.function(*edge) for edge in _edges(data)]
        try:
            values = pa.array(mapped, self._kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise JobExecutionError(
                f"the function of operator '{self.context.name}' returns values that are "
                f"not {self._kind} ({error}); pass the right value_type to map_edges()"
            ) from error
        names = [SOURCE, TARGET, VALUE, CHANGE]
        columns = [data.column(SOURCE), data.column(TARGET), values, data.column(CHANGE)]
        made = pa.RecordBatch.from_arrays(columns, names)
        self.output.emit(ColumnBatch(made, batch.timestamps, None, "dict"))


class LengthsOperator(Operator):
    """Gives edges a number as their value: 1 if they have none.

    Args:
        weighted: whether values of edges count.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, weighted: bool) -> None:
        self._weighted = weighted

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        if self._weighted:
            lengths = data.column(VALUE).cast(pa.float64()).fill_null(1.0)
            lengths = pc.add(lengths, 0.0)  # -0.0 becomes 0.0: lengths tell edges apart
        else:
            lengths = pa.array(np.ones(len(data)))
        columns = [data.column(SOURCE), data.column(TARGET), lengths, data.column(CHANGE)]
        made = pa.RecordBatch.from_arrays(columns, [SOURCE, TARGET, VALUE, CHANGE])
        self.output.emit(ColumnBatch(made, None, None, "dict"))


class ReverseOperator(Operator):
    """Reverses the direction of edges.

    Args:
        both: whether the edges are kept in their own direction, too.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, both: bool) -> None:
        self._both = both

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data = batch.data
        names = data.schema.names
        columns = [data.column(_TURNED.get(name, name)) for name in names]
        turned = ColumnBatch(
            pa.RecordBatch.from_arrays(columns, names), batch.timestamps, None, "dict"
        )
        self.output.emit(_interleaved(batch, turned) if self._both else turned)


_TURNED = {SOURCE: TARGET, TARGET: SOURCE}


def _interleaved(one: ColumnBatch, two: ColumnBatch) -> ColumnBatch:
    """Rows of both batches in turns, so that changes keep their order."""
    order = pa.array(np.arange(2 * len(one)).reshape(2, -1).T.reshape(-1))
    data = pa.Table.from_batches([one.data, two.data]).combine_chunks().take(order)
    [batch] = data.combine_chunks().to_batches()
    times = one.timestamps
    if times is not None:
        times = pa.concat_arrays([times, times]).take(order)
    return ColumnBatch(batch, times, None, "dict")


def _edges(data: pa.RecordBatch) -> Any:
    """Source, target and value of each edge as Python objects."""
    has_value = VALUE in data.schema.names
    values = data.column(VALUE).to_pylist() if has_value else [None] * len(data)
    return zip(
        data.column(SOURCE).to_pylist(), data.column(TARGET).to_pylist(), values, strict=True
    )
