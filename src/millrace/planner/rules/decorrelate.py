"""`decorrelated`: a query without references to the row around it, and the predicates they were in.

A correlated predicate is pulled up through the query, with the columns it reads, until it is a
condition of the join that replaces the query. Aggregates are grouped by those columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from millrace.common.types.logical.logical_type import BooleanType
from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import (
    Call,
    FieldReference,
    OuterReference,
    ResolvedExpression,
    ValueLiteral,
    place_of,
)
from millrace.planner.binder.names import unique_names
from millrace.planner.relational.outer_references import (
    expressions_of,
    from_inside,
    has_any_outer,
    has_outer,
    map_outer,
)
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    Sort,
)
from millrace.planner.relational.rewriting import (
    conjunction,
    conjuncts,
    filtered,
    moved,
    substituted,
)
from millrace.planner.relational.stream_rel_nodes import OverAggregate, Rank, RankKind
from millrace.planner.relational.unsupported_query import UnsupportedQueryError

__all__ = [
    "Decorrelated",
    "decorrelated",
    "joined_condition",
    "nearer",
]


@dataclass(frozen=True)
class Decorrelated:
    """A query on its own.

    Attributes:
        rows: the query's columns first, then those that the predicates read.
        predicates: over ``rows``, with level-1 references to the row around it.
        counts: columns that are 0, not null, for a row around the query that it finds nothing
            for. A query without references has none: over a stream a count of no rows gives no
            row, in batch mode always one.
    """

    rows: RelNode
    predicates: tuple[ResolvedExpression, ...] = ()
    counts: frozenset[int] = field(default=frozenset())


def decorrelated(rows: RelNode, around: RelNode | None = None) -> Decorrelated:
    """A query without references to the row around it.

    Args:
        around: the rows around it. Where a predicate below an aggregate, a LIMIT or OVER is no
            equality, the query is asked of each distinct row of what it reads of them.

    Raises:
        UnsupportedQueryError: a reference stands where it cannot be pulled out.
    """
    if not has_outer(rows, 1):
        return Decorrelated(rows)
    if isinstance(rows, Filter):
        return _filter(rows, around)
    if isinstance(rows, Project):
        return _project(rows, around)
    if isinstance(rows, Aggregate):
        return _aggregate(rows, around)
    if isinstance(rows, OverAggregate):
        return _over(rows, around)
    if isinstance(rows, Sort) and rows.fetch is not None:
        return _top(rows, around)
    if isinstance(rows, Join) and rows.kind is JoinKind.INNER and not rows.lateral:
        return _join(rows, around)
    raise rows.refusal(
        f"a correlated subquery with {type(rows).__name__} over the correlation is not supported: "
        "write it as a join"
    )


def is_outer(expression: ResolvedExpression) -> bool:
    """Whether it reads the row around the query."""
    if isinstance(expression, OuterReference):
        return expression.level == 1
    return any(is_outer(child) for child in expression.children())


def _filter(rows: Filter, around: RelNode | None) -> Decorrelated:
    inner = decorrelated(rows.input, around)
    parts = conjuncts(rows.condition)
    pulled = tuple(each for each in parts if is_outer(each))
    kept = [each for each in parts if not is_outer(each)]
    return Decorrelated(filtered(inner.rows, kept), (*inner.predicates, *pulled))


def _project(rows: Project, around: RelNode | None) -> Decorrelated:
    if any(is_outer(each) for each in rows.expressions):
        raise rows.refusal(
            "a correlated subquery can read outer columns in its WHERE, not in its SELECT"
        )
    inner = decorrelated(rows.input, around)
    needed = sorted({index for each in inner.predicates for index in _fields(each)})
    width = len(rows.expressions)
    positions = {index: width + place for place, index in enumerate(needed)}
    extra = tuple(inner.rows.field(index) for index in needed)
    names = unique_names((*rows.names, *(each.name or "$f" for each in extra)))
    counts = frozenset(
        place
        for place, each in enumerate(rows.expressions)
        if isinstance(each, FieldReference) and each.index in inner.counts
    )
    return Decorrelated(
        Project(inner.rows, (*rows.expressions, *extra), names),
        tuple(moved(each, positions) for each in inner.predicates),
        counts,
    )


def _fields(expression: ResolvedExpression) -> Iterator[int]:
    if isinstance(expression, FieldReference):
        yield expression.index
    for child in expression.children():
        yield from _fields(child)


def _keyed(inner: Decorrelated, around: RelNode | None) -> tuple[Decorrelated, list[int]]:
    """The query, and its columns by which the row around it chooses rows."""
    found = _with_key_columns(inner)
    keys = [_key(each) for each in found.predicates]
    if None not in keys:
        return found, list(dict.fromkeys(key for key in keys if key is not None))
    if around is None or has_any_outer(around) or not _is_repeatable(around):
        odd = next(each for each, key in zip(found.predicates, keys, strict=True) if key is None)
        raise UnsupportedQueryError(
            "a correlated subquery with an aggregate or a LIMIT compares its columns with "
            f"outer ones by = only, not by {odd}",
            place_of(odd) or inner.rows.place,
        )
    return _beside(inner, around)


def _key(predicate: ResolvedExpression) -> int | None:
    """The column of the query that equals something of the row around it; None: it asks anything
    else."""
    equal = isinstance(predicate, Call) and predicate.function in ("=", "IS NOT DISTINCT FROM")
    sides = predicate.children() if equal else ()
    fields = [side for side in sides if isinstance(side, FieldReference)]
    others = [side for side in sides if not list(_fields(side))]
    return fields[0].index if len(fields) == 1 and len(others) == 1 else None


def _is_repeatable(rows: RelNode) -> bool:
    """Whether rows are the same when they are computed twice."""
    own = all(map(is_deterministic, expressions_of(rows)))
    return own and all(map(_is_repeatable, rows.inputs))


def _beside(inner: Decorrelated, around: RelNode) -> tuple[Decorrelated, list[int]]:
    """The query's rows beside each distinct row of what it reads of the rows around it: its keys
    are these columns then, whatever the predicates are."""
    read = sorted({each for part in inner.predicates for each in _read_of_outer(part)})
    columns = tuple(around.field(index) for index in read)
    names = unique_names(each.name or "$f" for each in columns)
    asking = Aggregate(Project(around, columns, names), tuple(range(len(read))), ())
    width = len(inner.rows.row_type)
    places = {index: width + place for place, index in enumerate(read)}
    condition = conjunction([_of_columns(each, places) for each in inner.predicates])
    both = unique_names((*inner.rows.row_type.names, *names))
    join = Join(inner.rows, asking, JoinKind.INNER, condition, both, place=inner.rows.place)
    predicates = []
    for index, place in places.items():
        outer = from_inside(around.field(index))
        nullable = outer.output_type.is_nullable
        function = "IS NOT DISTINCT FROM" if nullable else "="
        predicates.append(resolve_call(function, (join.field(place), outer)))
    return Decorrelated(join, tuple(predicates)), list(places.values())


def _read_of_outer(expression: ResolvedExpression) -> Iterator[int]:
    """The columns of the row around the query that an expression reads."""
    if isinstance(expression, OuterReference) and expression.level == 1:
        yield expression.index
    for child in expression.children():
        yield from _read_of_outer(child)


def _of_columns(expression: ResolvedExpression, places: dict[int, int]) -> ResolvedExpression:
    """References to the row around the query as columns beside it."""
    if isinstance(expression, OuterReference) and expression.level == 1:
        return FieldReference(places[expression.index], expression.type, expression.name)
    children = tuple(_of_columns(each, places) for each in expression.children())
    return expression.with_children(children) if children else expression


def _with_key_columns(inner: Decorrelated) -> Decorrelated:
    """What must equal something of the row around the query, such as ``CAST(k AS BIGINT)``, as
    columns behind the others."""
    width, computed = len(inner.rows.row_type), list[ResolvedExpression]()
    predicates = []
    for each in inner.predicates:
        predicate = each
        if isinstance(each, Call) and each.function == "=":
            sides = list(each.arguments)
            own = [n for n, side in enumerate(sides) if not is_outer(side) and side.children()]
            if len(own) == 1 and not list(_fields(sides[1 - own[0]])):
                kind = sides[own[0]].output_type
                computed.append(sides[own[0]])
                sides[own[0]] = FieldReference(width + len(computed) - 1, kind, "$key")
                predicate = replace(each, arguments=tuple(sides))
        predicates.append(predicate)
    if not computed:
        return inner
    fields = tuple(inner.rows.field(index) for index in range(width))
    names = unique_names((*inner.rows.row_type.names, *("$key" for _ in computed)))
    rows = Project(inner.rows, (*fields, *computed), names)
    return replace(inner, rows=rows, predicates=tuple(predicates))


def _aggregate(rows: Aggregate, around: RelNode | None) -> Decorrelated:
    if rows.grouping_sets is not None:
        raise rows.refusal("grouping sets in a correlated subquery are not supported: join to them")
    inner, found = _keyed(decorrelated(rows.input, around), around)
    keys = [key for key in found if key not in rows.groups]
    groups = (*rows.groups, *keys)
    named = unique_names(
        (
            *(inner.rows.row_type.names[index] for index in groups),
            *(call.name for call in rows.calls),
        )
    )
    calls = tuple(
        replace(call, name=name)
        for call, name in zip(rows.calls, named[len(groups) :], strict=True)
    )
    made = Aggregate(inner.rows, groups, calls, place=rows.place)
    first, last = len(rows.groups), len(groups)
    order = [*range(first), *range(last, last + len(calls)), *range(first, last)]
    fields = tuple(made.field(index) for index in order)
    names = unique_names((*rows.row_type.names, *(each.name for each in fields[-len(keys) :])))
    result = Project(made, fields, names[: len(fields)])
    positions = {index: place for place, index in enumerate(rows.groups)}
    positions |= {key: first + len(calls) + place for place, key in enumerate(keys)}
    counts = (
        frozenset(i for i, call in enumerate(calls) if call.function == "COUNT")
        if not rows.groups
        else frozenset()
    )
    return Decorrelated(result, tuple(moved(each, positions) for each in inner.predicates), counts)


def _top(rows: Sort, around: RelNode | None) -> Decorrelated:
    """LIMIT per row of the outer query: the first rows per key."""
    inner, keys = _keyed(decorrelated(rows.input, around), around)
    assert rows.fetch is not None
    if rows.fetch == 0:
        none = ValueLiteral(False, BooleanType(nullable=False))
        return Decorrelated(filtered(inner.rows, [none]), inner.predicates)
    end = rows.offset + rows.fetch
    rank = Rank(
        *(inner.rows, RankKind.ROW_NUMBER, tuple(keys), rows.keys, rows.offset + 1, end),
        place=rows.place,
    )
    # the one row of a count is left out by an OFFSET
    counts = frozenset[int]() if rows.offset else inner.counts
    return replace(inner, rows=rank, counts=counts)


def _over(rows: OverAggregate, around: RelNode | None) -> Decorrelated:
    """OVER per row of the outer query: the keys divide the rows, too."""
    inner, keys = _keyed(decorrelated(rows.input, around), around)
    over = tuple(
        replace(group, partition=tuple(dict.fromkeys((*group.partition, *keys))))
        for group in rows.over
    )
    made = replace(rows, input=inner.rows, over=over)
    width, behind = len(rows.input.row_type), len(inner.rows.row_type)
    calls = len(made.row_type) - behind
    order = [*range(width), *range(behind, behind + calls), *range(width, behind)]
    names = unique_names((*rows.row_type.names, *inner.rows.row_type.names[width:]))
    positions = {index: index + (calls if index >= width else 0) for index in range(behind)}
    predicates = tuple(moved(each, positions) for each in inner.predicates)
    return Decorrelated(Project(made, tuple(map(made.field, order)), names), predicates)


def _join(rows: Join, around: RelNode | None) -> Decorrelated:
    left, right = decorrelated(rows.left, around), decorrelated(rows.right, around)
    old_left, old_right = len(rows.left.row_type), len(rows.right.row_type)
    new_left = len(left.rows.row_type)
    total = new_left + len(right.rows.row_type)
    shift = {i: i for i in range(old_left)} | {old_left + i: new_left + i for i in range(old_right)}
    names = unique_names((*left.rows.row_type.names, *right.rows.row_type.names))
    parts = conjuncts(rows.condition)
    kept = [moved(each, shift) for each in parts if not is_outer(each)]
    join = replace(rows, left=left.rows, right=right.rows, condition=conjunction(kept), names=names)
    first = [shift[index] for index in range(old_left + old_right)]
    order = [*first, *(index for index in range(total) if index not in first)]
    places = {index: place for place, index in enumerate(order)}
    fields = tuple(join.field(index) for index in order)
    result = Project(join, fields, unique_names(each.name for each in fields))
    of_right = {index: places[new_left + index] for index in range(total - new_left)}
    predicates = [
        *(moved(each, places) for each in left.predicates),
        *(moved(each, of_right) for each in right.predicates),
        *(moved(moved(each, shift), places) for each in parts if is_outer(each)),
    ]
    return Decorrelated(result, tuple(predicates))


def joined_condition(
    predicates: tuple[ResolvedExpression, ...], width: int
) -> list[ResolvedExpression]:
    """Predicates over the query's row as conditions over the outer row followed by it."""

    def inner(reference: FieldReference) -> ResolvedExpression:
        return FieldReference(reference.index + width, reference.type, reference.name)

    return [outer_fields(substituted(each, inner)) for each in predicates]


def outer_fields(expression: ResolvedExpression) -> ResolvedExpression:
    """References to the row around as fields of it, and those further out one level nearer."""
    if isinstance(expression, OuterReference):
        if expression.level == 1:
            return FieldReference(expression.index, expression.type, expression.name)
        return replace(expression, level=expression.level - 1)
    children = expression.children()
    return expression.with_children(tuple(map(outer_fields, children))) if children else expression


def nearer(rows: RelNode) -> RelNode:
    """A query that is part of the one around it now: what it refers to is a level nearer."""
    for level in (2, 3):
        if has_outer(rows, level):
            rows = map_outer(rows, level, lambda each: replace(each, level=each.level - 1))
    return rows
