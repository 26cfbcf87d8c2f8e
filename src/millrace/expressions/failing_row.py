"""`tell_row`: finds the row of a batch for which an expression fails, for the error message."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression

__all__ = ["tell_row"]

_SHOWN = 400
"""Characters of a row in a message."""


def tell_row(
    error: EvaluationError,
    expressions: Iterable[ResolvedExpression],
    input_type: RowType,
    batch: pa.RecordBatch,
    evaluate: Callable[[pa.RecordBatch], Any],
) -> None:
    """Add the first failing row to the error. Expressions with user functions are left out, since
    finding the row would call the functions again.

    Args:
        expressions: the evaluated expressions; the error shows the columns they read.
        evaluate: the evaluation that failed for the batch.
    """
    nodes = [node for each in expressions for node in _nodes(each)]
    columns = {node.index for node in nodes if isinstance(node, FieldReference)}
    calls = (node for node in nodes if isinstance(node, Call))
    if error.row or not columns or not all(call.function.built_in for call in calls):
        return
    start, end = 0, batch.num_rows
    while end - start > 1:
        middle = (start + end) // 2
        try:
            evaluate(batch.slice(start, middle - start))
            start = middle
        except EvaluationError:
            end = middle
    names = input_type.names
    shown = ", ".join(
        f"{names[index]} = {batch.column(index)[start].as_py()!r}" for index in sorted(columns)
    )
    error.row = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _nodes(expression: ResolvedExpression) -> Iterable[ResolvedExpression]:
    yield expression
    for child in expression.children():
        yield from _nodes(child)
