"""Constant rows. Flink: ``Values``."""

from __future__ import annotations

from functools import partial
from typing import Any

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import compiled
from millrace.expressions.resolved import ResolvedExpression, ValueLiteral
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Role, Transformation
from millrace.planner.execution.state_digest import digest, expression_digest
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.rel_node import Values
from millrace.table_runtime.columns import column_of, schema_of
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.table_runtime.table_source import TableSourceOperator

__all__ = ["translate_values"]


@translates(Values)
def translate_values(node: Values, translator: Translator) -> Transformation:
    """A source of a single split, so that the rows keep their order."""
    import pyarrow as pa

    session = translator.settings.session
    schema = schema_of(node.row_type)
    columns = [
        column_of([_value(row[index], session) for row in node.rows], field)
        for index, field in enumerate(node.row_type.fields)
    ]
    data = pa.RecordBatch.from_arrays(columns, schema=schema)
    source = RecordBatchSource(data)
    made = Transformation(
        name=f"Values[{translator.number()}]",
        role=Role.SOURCE,
        factory=partial(TableSourceOperator, source, node.row_type),
        inputs=(),
        parallelism=1,
        fixed_parallelism=True,
        source=source,
        description=f"Values(tuples=[{len(node.rows)} rows])",
    )
    rows = [
        [expression_digest(value, (), translator.session) for value in row] for row in node.rows
    ]
    return translator.begin(made, digest(rows), range(len(node.row_type)))


def _value(expression: ResolvedExpression, session: SessionSettings | None) -> Any:
    """Value of an expression without field references."""
    import pyarrow as pa

    if isinstance(expression, ValueLiteral):
        return expression.value
    one_row = pa.RecordBatch.from_pydict({"0": [0]})
    return compiled(expression, RowType(()), session)(one_row)[0].as_py()
