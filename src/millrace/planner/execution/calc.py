"""Projections and filters: consecutive ones become a single operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from millrace.common.types.logical.logical_type import BooleanType
from millrace.expressions import built_in
from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression, rewritten
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import Provenance
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.rel_node import Filter, Project, RelNode
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table_runtime.calc import CalcOperator

__all__ = ["FusedCalc", "composed", "fused", "translate_filter", "translate_project"]

_MOST_COPIED = 1000
"""Nodes of expressions that fusing projections may copy."""


@dataclass(frozen=True)
class FusedCalc:
    """Consecutive projections and filters above an input, merged into one of each."""

    input: RelNode
    projections: tuple[ResolvedExpression, ...]
    condition: ResolvedExpression | None


@translates(Project)
def translate_project(node: Project, translator: Translator) -> Transformation:
    """The operator of a projection, merged with the projections and filters below it."""
    return _translated(node, translator)


@translates(Filter)
def translate_filter(node: Filter, translator: Translator) -> Transformation:
    """The operator of a filter, merged with the projections and filters below it."""
    return _translated(node, translator)


def fused(node: RelNode) -> FusedCalc:
    """A node merged with the projections and filters below it. A nondeterministic expression
    must be computed once, so it is not merged with others."""
    projections: tuple[ResolvedExpression, ...]
    projections = tuple(node.field(index) for index in range(len(node.row_type)))
    condition: ResolvedExpression | None = None
    while True:
        if isinstance(node, Project):
            if not all(map(is_deterministic, node.expressions)) and not _is_identity(
                projections, condition
            ):
                break
            below = node.expressions
            if _grows([*projections, *([] if condition is None else [condition])], below):
                break
            projections = tuple(composed(projection, below) for projection in projections)
            condition = None if condition is None else composed(condition, below)
        elif isinstance(node, Filter):
            if not all(map(is_deterministic, projections)):
                break
            condition = _both(node.condition, condition)
        else:
            break
        node = node.input
    return FusedCalc(node, projections, condition)


def composed(
    expression: ResolvedExpression, below: tuple[ResolvedExpression, ...]
) -> ResolvedExpression:
    """Rewrite an expression over a projection's output into one over the projection's input."""

    def replaced(part: ResolvedExpression) -> ResolvedExpression:
        return below[part.index] if isinstance(part, FieldReference) else part

    return rewritten(expression, replaced)


def _grows(above: Sequence[ResolvedExpression], below: Sequence[ResolvedExpression]) -> bool:
    """Whether merging would copy too many expressions: if each projection reads a column of the
    one below twice, the size doubles at every level."""
    sizes = [_size(expression) for expression in below]
    together = sum(_size(expression, sizes) for expression in above)
    return together > sum(map(_size, above)) + sum(sizes) + _MOST_COPIED


def _size(expression: ResolvedExpression, fields: Sequence[int] | None = None) -> int:
    """Number of nodes of an expression; a field counts as many nodes as the expression it stands
    for."""
    if isinstance(expression, FieldReference):
        return 1 if fields is None else fields[expression.index]
    return 1 + sum(_size(child, fields) for child in expression.children())


def _is_identity(
    projections: tuple[ResolvedExpression, ...], condition: ResolvedExpression | None
) -> bool:
    fields = all(isinstance(projection, FieldReference) for projection in projections)
    return condition is None and fields and len(set(projections)) == len(projections)


def _both(lower: ResolvedExpression, upper: ResolvedExpression | None) -> ResolvedExpression:
    if upper is None:
        return lower
    nullable = lower.output_type.is_nullable or upper.output_type.is_nullable
    return Call(built_in.AND, (lower, upper), BooleanType(nullable=nullable))


def _translated(node: RelNode, translator: Translator) -> Transformation:
    calc = fused(node)
    if translator.settings.batch:
        _refuse_watermarks(calc)
    factory = partial(
        CalcOperator,
        calc.projections,
        calc.condition,
        calc.input.row_type,
        node.row_type,
        translator.settings.session or SessionSettings(),
    )
    selected = ", ".join(
        f"{projection} AS {name}" if str(projection) != name else name
        for projection, name in zip(calc.projections, node.row_type.names, strict=True)
    )
    where = "" if calc.condition is None else f", where=[{calc.condition}]"
    rows = translator.input(calc.input)
    return translator.stateless(
        "Calc",
        factory,
        [rows],
        _gives(calc, translator.provenance(rows), translator.insert_only(calc.input)),
        f"Calc(select=[{selected}]{where})",
    )


def _gives(calc: FusedCalc, rows: Provenance, insert_only: bool) -> Provenance:
    """Meaning of the result, which decides the uids of later operators. A new version of the
    query may change a filter on inserted rows, but not the column values. It may not change a
    filter on updates either, since rows that the old filter let through could not be retracted."""
    columns = [rows.column(projection) for projection in calc.projections]
    if calc.condition is None:
        return rows.with_columns(columns)
    if insert_only:
        return rows.filtered(calc.condition).with_columns(columns)
    return rows.with_columns(columns, "where", rows.expression(calc.condition))


def _refuse_watermarks(calc: FusedCalc) -> None:
    conditions = () if calc.condition is None else (calc.condition,)
    pending: list[ResolvedExpression] = [*calc.projections, *conditions]
    while pending:
        expression = pending.pop()
        if isinstance(expression, Call) and expression.function is built_in.CURRENT_WATERMARK:
            raise UnsupportedQueryError(
                "CURRENT_WATERMARK is for streams: in batch mode there are no watermarks",
                expression.place,
            )
        pending += expression.children()
