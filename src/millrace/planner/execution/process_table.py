"""Process table functions of users. Flink: ``ProcessTableFunction``."""

from __future__ import annotations

from functools import partial

from millrace.expressions.process_table_functions import ArgumentTrait
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Input, Transformation
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.state_signature import Provenance, StateSignature
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.process_table import ProcessTable
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table_runtime.process_table import (
    ProcessedTable,
    ProcessTableOperator,
    ProcessTableSpec,
)

__all__ = ["translate_process_table"]


@translates(ProcessTable)
def translate_process_table(node: ProcessTable, translator: Translator) -> Transformation:
    """The operator of a process table function; with row semantics it runs in its input's subtasks,
    else by partition.

    Raises:
        JobDefinitionError: its uid is that of another function of the job.
    """
    spec = _spec(node, translator)
    factory = partial(ProcessTableOperator, spec)
    keys = ", ".join(
        rows.row_type.names[index]
        for rows, table in zip(node.operands, node.tables, strict=True)
        for index in table.partition
    )
    description = f"ProcessTableFunction(invocation=[{node.invocation}], uid=[{node.uid}]"
    description += f", partitionBy=[{keys}])" if keys else ")"
    if not node.is_keyed:
        inputs = [translator.input(operand, place) for place, operand in enumerate(node.operands)]
        gives = _gives(node, "", inputs, translator)
        return translator.stateless("ProcessTableFunction", factory, inputs, gives, description)
    inputs = [
        translator.keyed(rows, table.partition, place)
        for place, (rows, table) in enumerate(zip(node.operands, node.tables, strict=True))
    ]
    signature = state_signature(node, inputs, translator)
    made = translator.stateful("ProcessTableFunction", factory, inputs, signature, description)
    uid = f"ptf-{node.uid}"
    translator.name(made, uid, _gives(node, uid, inputs, translator), _taken(node))
    return made


def state_signature(
    node: ProcessTable, inputs: list[Input], translator: Translator
) -> StateSignature:
    """Signature of the state, identified by the uid that the program chose."""
    return StateSignature.of(*map(translator.provenance, inputs), uid=node.uid)


def _gives(node: ProcessTable, uid: str, inputs: list[Input], translator: Translator) -> Provenance:
    """Meaning of the result: every output column depends on all input columns."""
    tables = [translator.provenance(source) for source in inputs]
    of_nothing = Provenance("", (), translator.session)
    made = digest(
        node.function,
        uid,
        [(table.rows, table.columns) for table in tables],
        [(t.argument, t.partition, t.order, t.time) for t in node.tables],
        [of_nothing.expression(value) for value in node.values],
    )
    columns = (digest(made, index) for index in range(len(node.row_type)))
    filters = (digest([table.filters for table in tables]),)
    return Provenance(made, tuple(columns), translator.session, filters)


def _taken(node: ProcessTable) -> UnsupportedQueryError:
    return node.refusal(
        f"two calls of process table functions have the uid {node.uid!r}, by which their state is "
        f"found: give one of them another, {node.function.name}(..., uid => 'another')"
    )


def _spec(node: ProcessTable, translator: Translator) -> ProcessTableSpec:
    tables = []
    for rows, table in zip(node.operands, node.tables, strict=True):
        argument = node.argument(table)
        tables.append(
            ProcessedTable(
                table.argument,
                "" if argument is None else argument.name,
                rows.row_type,
                table.partition,
                table.order,
                table.time,
                None if argument is None else argument.made,
                node.asks(table, ArgumentTrait.PASS_COLUMNS_THROUGH),
            )
        )
    return ProcessTableSpec(
        node.function.name,
        node.signature,
        tuple(tables),
        node.values,
        node.row_type,
        translator.state_ttl(),
        translator.settings.session or SessionSettings(),
    )
