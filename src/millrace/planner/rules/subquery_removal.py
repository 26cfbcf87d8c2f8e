"""Replaces queries in expressions by joins: EXISTS and IN by semi and anti joins, scalar queries by
left joins.

NOT IN is null-aware as in SQL: a null on either side is no match and no mismatch, so the row goes.
Flink: ``FlinkSubQueryRemoveRule``, ``FlinkRelDecorrelator``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.logical.logical_type import BigIntType, BooleanType, RowType
from millrace.expressions import built_in
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import (
    AggregateCall,
    Call,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.binder.names import unique_names
from millrace.planner.relational.outer_references import has_outer
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetKind,
    SetOperation,
    Sort,
    Subquery,
    SubqueryKind,
    TableFunctionScan,
    Values,
)
from millrace.planner.relational.rewriting import bottom_up, conjunction, conjuncts, filtered
from millrace.planner.relational.stream_rel_nodes import LogicalSnapshot
from millrace.planner.rules.decorrelate import (
    decorrelated,
    filled,
    joined_condition,
    nearer,
    outer_fields,
    with_mark,
)
from millrace.planner.rules.quantified_values import quantified_value

__all__ = ["without_subqueries"]

_QUERY_ON_THE_LEFT = "a query on the left of IN is not supported"


def without_subqueries(rows: RelNode) -> RelNode:
    """The tree with joins in place of queries in expressions and of lateral queries.

    Raises:
        UnsupportedQueryError: a query stands where no join can replace it.
    """
    return bottom_up(rows, _removed)


def _removed(node: RelNode) -> RelNode:
    if isinstance(node, Filter) and _has_query(node.condition):
        return _filter(node)
    if isinstance(node, Project) and any(map(_has_query, node.expressions)):
        base, expressions = _scalars(node.input, node.expressions)
        return Project(base, expressions, node.names)
    if isinstance(node, Values) and any(
        _has_query(expression) for row in node.rows for expression in row
    ):
        return _values(node)
    if isinstance(node, Join) and _has_query(node.condition):
        return _join(node)
    if isinstance(node, Join) and node.lateral:
        return _lateral(node)
    return node


def _join(node: Join) -> RelNode:
    """The inner join, with those conditions of ON that contain queries as a filter above the
    join."""
    if node.kind is not JoinKind.INNER:
        raise node.refusal(
            "a query in ON of an outer join is not supported: join to its result first"
        )
    parts = conjuncts(node.condition)
    plain = [part for part in parts if not _has_query(part)]
    queries = [part for part in parts if _has_query(part)]
    joined = _removed(replace(node, condition=conjunction(plain)))
    return _filter(Filter(joined, conjunction(queries)))


def _values(node: Values) -> RelNode:
    """The rows of ``SELECT (SELECT ...)`` without FROM, each as a projection of a one-row input."""
    true = ValueLiteral(True, BooleanType(nullable=False))
    one = Values(((true,),), RowType.of(("$one", true.type)))
    names = node.row_type.names
    rows = tuple(_removed(Project(one, row, names)) for row in node.rows)
    if len(rows) == 1:
        return rows[0]
    return SetOperation(SetKind.UNION, True, rows, node.row_type)


def _has_query(expression: ResolvedExpression) -> bool:
    return isinstance(expression, Subquery) or any(map(_has_query, expression.children()))


def _filter(node: Filter) -> RelNode:
    rows = node.input
    width = len(rows.row_type)
    others: list[ResolvedExpression] = []
    queries: list[tuple[Subquery, bool]] = []
    for part in conjuncts(node.condition):
        negated = isinstance(part, Call) and part.function is built_in.NOT
        inner = part.children()[0] if negated else part
        if not isinstance(inner, Subquery) or inner.kind is SubqueryKind.SCALAR:
            others.append(part)
        elif _gives_one_row(inner):
            one = _of_one_row(inner)
            others.append(resolve_call(built_in.NOT, (one,)) if negated else one)
        else:
            queries.append((inner, negated))
    plain = [part for part in others if not _has_query(part)]
    rows = filtered(rows, plain)
    for query, negated in queries:
        rows = _semi(rows, query, negated)
    scalar = [part for part in others if _has_query(part)]
    if not scalar:
        return rows
    rows, conditions = _scalars(rows, tuple(scalar))
    return _narrowed(filtered(rows, conditions), width)


def _gives_one_row(query: Subquery) -> bool:
    """Whether the query is correlated and returns a row for every outer row."""
    return _one_row(query.relation) and has_outer(query.relation, 1)


def _of_one_row(query: Subquery) -> ResolvedExpression:
    """A condition on a query that always returns one row, as an expression: TRUE for EXISTS, and
    otherwise comparisons with scalar queries."""
    if query.kind is SubqueryKind.EXISTS:
        return ValueLiteral(True, BooleanType(nullable=False))
    columns = [
        Subquery(SubqueryKind.SCALAR, Project(query.relation, (column,), (column.name,)))
        for column in map(query.relation.field, range(len(query.operands)))
    ]
    comparison = built_in.EQUALS if query.kind is SubqueryKind.IN else query.comparison
    pairs = zip(query.operands, columns, strict=True)
    return conjunction([resolve_call(comparison, pair) for pair in pairs])


def _narrowed(rows: RelNode, width: int) -> RelNode:
    if len(rows.row_type) == width:
        return rows
    fields = tuple(rows.field(index) for index in range(width))
    return Project(rows, fields, rows.row_type.names[:width])


def _semi(rows: RelNode, query: Subquery, negated: bool) -> RelNode:
    width = len(rows.row_type)
    for operand in query.operands:
        if _has_query(operand):
            raise query.relation.refusal(_QUERY_ON_THE_LEFT)
    inner = decorrelated(without_subqueries(query.relation), rows)
    conditions = joined_condition(inner.predicates, width)
    if query.kind in (SubqueryKind.SOME, SubqueryKind.ALL):
        return _quantified(rows, query, negated, inner.rows, conditions)
    for index, operand in enumerate(query.operands):
        column = inner.rows.field(index)
        right = FieldReference(width + index, column.type, column.name)
        conditions.append(_equal(operand, right, negated))
    kind = JoinKind.ANTI if negated else JoinKind.SEMI
    return Join(
        *(rows, nearer(inner.rows), kind, conjunction(conditions), rows.row_type.names),
        place=query.relation.place,
    )


def _quantified(
    rows: RelNode,
    query: Subquery,
    negated: bool,
    inner: RelNode,
    conditions: list[ResolvedExpression],
) -> RelNode:
    """Semi join for ``a < SOME (...)``, on a comparison that is TRUE; anti join for ``a < ALL
    (...)``, on one that is not TRUE. Under NOT, FALSE takes the place of TRUE."""
    width = len(rows.row_type)
    column = inner.field(0)
    right = FieldReference(width, column.output_type, "")
    compared = resolve_call(query.comparison, (query.operands[0], right))
    every = query.kind is SubqueryKind.ALL
    if every == negated:
        kind, condition = (
            JoinKind.SEMI,
            resolve_call(built_in.NOT, (compared,)) if negated else compared,
        )
    else:
        function = built_in.IS_NOT_FALSE if negated else built_in.IS_NOT_TRUE
        kind, condition = JoinKind.ANTI, resolve_call(function, (compared,))
    whole = conjunction([*conditions, condition])
    place = query.relation.place
    return Join(rows, nearer(inner), kind, whole, rows.row_type.names, place=place)


def _equal(
    left: ResolvedExpression, right: ResolvedExpression, null_aware: bool
) -> ResolvedExpression:
    equal: ResolvedExpression = resolve_call(built_in.EQUALS, (left, right))
    nullable = [side for side in (left, right) if side.output_type.is_nullable]
    if not null_aware or not nullable:
        return equal
    boolean = BooleanType(nullable=False)
    missing = tuple(Call(built_in.IS_NULL, (side,), boolean) for side in nullable)
    return Call(built_in.OR, (equal, *missing), BooleanType())


def _scalars(
    rows: RelNode, expressions: tuple[ResolvedExpression, ...]
) -> tuple[RelNode, tuple[ResolvedExpression, ...]]:
    """The rows with a column per scalar query, and the expressions that read those columns."""

    def replaced(expression: ResolvedExpression) -> ResolvedExpression:
        nonlocal rows
        if isinstance(expression, Subquery):
            if any(map(_has_query, expression.operands)):
                raise expression.relation.refusal(_QUERY_ON_THE_LEFT)
            if expression.kind is not SubqueryKind.SCALAR and _gives_one_row(expression):
                return replaced(_of_one_row(expression))
            if expression.kind not in (SubqueryKind.SCALAR, SubqueryKind.EXISTS):
                return replaced(quantified_value(expression))
            rows, made = _scalar(rows, expression)
            return made
        children = expression.children()
        return expression.with_children(tuple(map(replaced, children))) if children else expression

    changed = tuple(map(replaced, expressions))
    return rows, changed


def _scalar(rows: RelNode, query: Subquery) -> tuple[RelNode, ResolvedExpression]:
    relation = without_subqueries(query.relation)
    if query.kind is SubqueryKind.EXISTS:
        # how many rows there are: never null for a query without correlation
        one = Project(relation, (ValueLiteral(True, BooleanType(nullable=False)),), ("$f0",))
        count = AggregateCall(built_in.COUNT, (), BigIntType(nullable=False), name="EXPR$0")
        relation = Aggregate(one, (), (count,), place=relation.place)
    inner = decorrelated(_single(relation), rows)
    marked, mark = with_mark(inner)
    width = len(rows.row_type)
    conditions = joined_condition(inner.predicates, width)
    names = unique_names((*rows.row_type.names, *marked.row_type.names))
    join = Join(
        *(rows, nearer(marked), JoinKind.LEFT, conjunction(conditions), names),
        place=relation.place,
    )
    value: ResolvedExpression = join.field(width)
    if inner.empty is not None:
        empty = tuple(map(outer_fields, inner.empty))
        (value,) = filled(join, width, empty[:1], None if mark is None else width + mark)
    elif query.kind is SubqueryKind.EXISTS:
        kind = value.output_type.with_nullable(False)
        value = Call(built_in.COALESCE, (value, ValueLiteral(0, kind)), kind)
    if query.kind is SubqueryKind.EXISTS:
        zero = ValueLiteral(0, BigIntType(nullable=False))
        value = Call(built_in.GREATER_THAN, (value, zero), BooleanType(nullable=False))
    return join, value


def _single(rows: RelNode) -> RelNode:
    """A query of at most one row; a second row fails the job (Flink's SINGLE_VALUE)."""
    if _one_row(rows):
        return rows
    inner = rows
    while isinstance(inner, Project):
        inner = inner.input
    if isinstance(inner, Sort) and inner.fetch == 1:
        return rows
    if isinstance(inner, Values) and len(inner.rows) == 1:
        return rows
    column = rows.row_type.fields[0]
    kind = column.type.with_nullable(True)
    call = AggregateCall(built_in.SINGLE_VALUE, (0,), kind, name=column.name)
    return Aggregate(rows, (), (call,), place=rows.place)


def _lateral(node: Join) -> RelNode:
    """The join for a lateral query; functions and look-ups stay lateral."""
    inner: RelNode = node.right
    while isinstance(inner, Project | Filter):
        inner = inner.input
    if isinstance(inner, TableFunctionScan | LogicalSnapshot):
        return node
    left, old = len(node.left.row_type), len(node.right.row_type)
    made = decorrelated(node.right, node.left)
    conditions = joined_condition(made.predicates, left)
    # an aggregate without keys gives a row for every outer row, also where it finds none
    padded = node.kind in (JoinKind.INNER, JoinKind.LEFT) and made.empty is not None
    marked, mark = with_mark(made) if padded else (made.rows, None)
    kind = JoinKind.LEFT if padded else node.kind
    if not padded:  # it reads the left row and the query's own columns, which come first
        conditions += conjuncts(node.condition)
    names = unique_names((*node.left.row_type.names, *marked.row_type.names))
    join = replace(
        node,
        right=nearer(marked),
        kind=kind,
        condition=conjunction(conditions),
        names=names,
        lateral=False,
    )
    fields: list[ResolvedExpression] = [join.field(index) for index in range(left + old)]
    if padded:
        empty = tuple(map(outer_fields, made.empty or ()))
        fields[left:] = filled(join, left, empty, None if mark is None else left + mark)
    rows = Project(join, tuple(fields), node.names)
    if not padded:
        return rows
    if node.kind is JoinKind.INNER:
        return filtered(rows, conjuncts(node.condition))
    return _null_unless(rows, node.condition, left)


def _null_unless(rows: RelNode, condition: ResolvedExpression, left: int) -> RelNode:
    """The rows with NULL in the columns from ``left`` on unless a condition is TRUE."""
    if isinstance(condition, ValueLiteral) and condition.value is True:
        return rows
    names = rows.row_type.names
    columns: list[ResolvedExpression] = list(map(rows.field, range(len(names))))
    for index in range(left, len(columns)):
        kind = columns[index].output_type.with_nullable(True)
        chosen = (condition, columns[index], ValueLiteral(None, kind))
        columns[index] = Call(built_in.CASE, chosen, kind)
    return Project(rows, tuple(columns), names)


def _one_row(rows: RelNode) -> bool:
    """Whether the query returns exactly one row: an aggregate without keys, perhaps under a
    LIMIT that keeps its row."""
    while isinstance(rows, Project) or (
        isinstance(rows, Sort) and not rows.offset and rows.fetch != 0
    ):
        rows = rows.input
    return isinstance(rows, Aggregate) and not rows.groups
