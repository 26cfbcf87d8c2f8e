"""MATCH_RECOGNIZE: an operator that keeps the partial matches of each partition. Flink:
``Match``."""

from __future__ import annotations

from functools import partial

from millrace.common.types.logical.logical_type import (
    ArrayType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
)
from millrace.expressions.aggregates.accumulators import accumulator
from millrace.expressions.evaluation import compiled
from millrace.expressions.function_definition import FunctionResolutionError
from millrace.expressions.pattern_expressions import (
    MatchRowtime,
    PatternAggregate,
    PatternFieldReference,
)
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rewriting import conjunction, conjuncts
from millrace.planner.relational.stream_rel_nodes import (
    AfterMatchSkip,
    Match,
    QuantifiedVariable,
    TimeAttribute,
)
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.runtime.cep.pattern_model import Contiguity, Quantifier
from millrace.table_runtime.match import MatchOperator, MatchSpec, MatchVariable

__all__ = ["match_spec", "translate_match"]


@translates(Match)
def translate_match(node: Match, translator: Translator) -> Transformation:
    """The operator of a MATCH_RECOGNIZE; rows go to the subtask of their partition, or all to one
    without a partition.

    Raises:
        UnsupportedQueryError: the order is not of time, or something cannot run.
    """
    settings = translator.settings
    spec = match_spec(node, settings.session or SessionSettings(), settings.batch)
    names = node.input.row_type.names
    keys = ", ".join(names[index] for index in node.partition)
    pattern = " ".join(map(str, node.pattern))
    defined = ", ".join(f"{name} AS {condition}" for name, condition in node.definitions)
    measures = ", ".join(f"{measure} AS {name}" for name, measure in node.measures)
    return translator.stateful(
        "Match",
        partial(MatchOperator, spec),
        [translator.keyed(node.input, node.partition)],
        state_signature(node, translator),
        f"Match(partitionBy=[{keys}], measures=[{measures}], pattern=[({pattern})], "
        f"define=[{defined}])",
    )


def state_signature(node: Match, translator: Translator) -> StateSignature:
    """Signature of the state: waiting rows and partial matches by partition."""
    rows = translator.provenance(translator.input(node.input))
    return StateSignature.of(
        rows,
        kept=rows.columns,
        partition=rows.at(node.partition),
        order=rows.order(node.order),
        pattern=node.pattern,
        definitions=[(name, rows.column(condition)) for name, condition in node.definitions],
        measures=[rows.column(measure) for _, measure in node.measures],
        skip=(node.after_match, node.skip_to),
        within=node.within,
    )


def match_spec(node: Match, session: SessionSettings, batch: bool = False) -> MatchSpec:
    """The spec of the operator of a MATCH_RECOGNIZE.

    Raises:
        JobDefinitionError: the order is not of time, or something cannot run.
    """
    row_type = node.input.row_type
    for index in node.partition:
        column = row_type.fields[index]
        if isinstance(column.type, ArrayType | MapType | RowType):
            raise node.refusal(
                f"PARTITION BY of MATCH_RECOGNIZE cannot use the column {column.name!r}, which is "
                f"of type {column.type}"
            )
    rowtime = _rowtime(node, batch)
    if rowtime is None and any(isinstance(measure, MatchRowtime) for _, measure in node.measures):
        raise node.refusal(
            "MATCH_ROWTIME needs ORDER BY an event time, but this query orders by processing "
            "time: use MATCH_PROCTIME()"
        )
    conditions = dict(node.definitions)
    for expression in (*conditions.values(), *(measure for _, measure in node.measures)):
        _refuse_missing(node, expression)
    return MatchSpec(
        row_type,
        node.partition,
        # in the order of processing time rows are as they come
        node.order if rowtime is not None else node.order[1:],
        rowtime,
        tuple(
            _variable(variable, conditions.get(variable.name), row_type, session)
            for variable in node.pattern
        ),
        tuple(measure for _, measure in node.measures),
        node.row_type,
        _skip(node),
        node.within,
        session,
    )


def _rowtime(node: Match, batch: bool) -> int | None:
    """Position of the event-time column; None if rows are ordered by processing time."""
    first = node.order[0].index
    kind = time_attributes(node.input).get(first)
    if kind is not None:
        return first if kind is TimeAttribute.ROWTIME else None
    field = node.input.row_type.fields[first]
    if batch and isinstance(field.type, TimestampType | LocalZonedTimestampType):
        return first
    raise node.refusal(
        "You must specify either rowtime or proctime for order by as the first one: "
        f"{field.name!r} is {field.type}",
        node.order[0].place,
    )


def _variable(
    variable: QuantifiedVariable,
    condition: ResolvedExpression | None,
    row_type: RowType,
    session: SessionSettings,
) -> MatchVariable:
    alone: list[ResolvedExpression] = []
    others: list[ResolvedExpression] = []
    for part in [] if condition is None else conjuncts(condition):
        fits = not _looks_back(part) and not compiled(part, row_type, session).may_fail
        (alone if fits else others).append(part)
    return MatchVariable(
        variable.name,
        _quantifier(variable),
        conjunction(alone) if alone else None,
        tuple(others),
    )


def _looks_back(expression: ResolvedExpression) -> bool:
    if isinstance(expression, PatternFieldReference | PatternAggregate):
        return True
    return any(map(_looks_back, expression.children()))


def _quantifier(variable: QuantifiedVariable) -> Quantifier:
    least, most = variable.least, variable.most
    optional = least == 0
    greedy = not variable.reluctant and (least, most) != (0, 1) and least != most
    return Quantifier(max(least, 1), most, optional, greedy, Contiguity.STRICT)


def _skip(node: Match) -> AfterMatchSkipStrategy:
    name = node.skip_to or ""
    if node.after_match is AfterMatchSkip.TO_NEXT_ROW:
        return AfterMatchSkipStrategy.skip_to_next()
    if node.after_match is AfterMatchSkip.TO_FIRST:
        return AfterMatchSkipStrategy.skip_to_first(name).throw_exception_on_miss()
    if node.after_match is AfterMatchSkip.TO_LAST:
        return AfterMatchSkipStrategy.skip_to_last(name).throw_exception_on_miss()
    return AfterMatchSkipStrategy.skip_past_last_event()


def _refuse_missing(node: Match, expression: ResolvedExpression) -> None:
    """Refuse aggregates that cannot run, before the job starts."""
    if isinstance(expression, PatternAggregate):
        types = tuple(argument.output_type for argument in expression.arguments)
        try:
            accumulator(expression.function, types, expression.type)
        except FunctionResolutionError as error:
            raise node.refusal(str(error)) from None
    for child in expression.children():
        _refuse_missing(node, child)
