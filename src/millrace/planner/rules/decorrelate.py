"""`decorrelated`: a query without references to the outer row, and the predicates that contained
them.

A correlated predicate is pulled up through the query, with the columns it reads, until it is a
condition of the join that replaces the query. Aggregates are grouped by those columns, so they
have no row if nothing is found; the query's values for this case are kept separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from millrace.common.types.logical.logical_type import BooleanType
from millrace.expressions import built_in
from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import (
    AggregateCall,
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
    refers_outside,
)
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetOperation,
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
from millrace.planner.rules.empty_groups import is_always_null, value_of_nothing

__all__ = [
    "Decorrelated",
    "decorrelated",
    "filled",
    "joined_condition",
    "nearer",
    "outer_fields",
    "with_mark",
]

_TRUE = ValueLiteral(True, BooleanType(nullable=False))
_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


@dataclass(frozen=True)
class Decorrelated:
    """A query without references to the outer row, and the predicates that join it to that row.

    Attributes:
        rows: the query's columns first, then those that the predicates read.
        predicates: over ``rows``, with level-1 references to the outer row.
        empty: values of the query's columns for an outer row for which it finds nothing, if it
            returns a row then: COUNT is 0. None if it returns no row, and for a query without
            references: a count of no rows gives no row in a stream, and always one in batch mode.
    """

    rows: RelNode
    predicates: tuple[ResolvedExpression, ...] = ()
    empty: tuple[ResolvedExpression, ...] | None = None


def decorrelated(rows: RelNode, around: RelNode | None = None) -> Decorrelated:
    """The query without references to the outer row.

    Args:
        around: the outer rows. If a predicate below an aggregate, a LIMIT or OVER is not an
            equality, the query is joined to each distinct row of the outer columns it reads.

    Raises:
        UnsupportedQueryError: a reference cannot be pulled out of its place.
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
    if isinstance(rows, Sort) and not rows.offset:
        return decorrelated(rows.input, around)  # the order of a subquery's rows means nothing
    if isinstance(rows, Join) and rows.kind in _KINDS and not rows.lateral:
        return _join(rows, around)
    raise rows.refusal(
        f"a subquery cannot have {_words(rows)} over rows that depend on the outer row: write "
        "it as a join"
    )


def _words(rows: RelNode) -> str:
    """The clause of a query that a node stands for."""
    if isinstance(rows, SetOperation):
        return rows.kind.name
    return "OFFSET without LIMIT" if isinstance(rows, Sort) else type(rows).__name__


def is_outer(expression: ResolvedExpression) -> bool:
    """Whether the expression reads the outer row."""
    if isinstance(expression, OuterReference):
        return expression.level == 1
    return any(is_outer(child) for child in expression.children())


def _filter(rows: Filter, around: RelNode | None) -> Decorrelated:
    # HAVING decides about the row of a group without rows, too
    inner = _with_row(decorrelated(rows.input, around), around)
    parts = conjuncts(rows.condition)
    pulled = tuple(part for part in parts if is_outer(part))
    kept = [part for part in parts if not is_outer(part)]
    return Decorrelated(filtered(inner.rows, kept), (*inner.predicates, *pulled))


def _project(rows: Project, around: RelNode | None) -> Decorrelated:
    inner = decorrelated(rows.input, around)
    expressions, read = rows.expressions, set(_read_of_outer(*rows.expressions))
    if read:
        inner, places = _beside(inner, around, read)
        expressions = tuple(_of_columns(expression, places) for expression in expressions)
    needed = sorted({index for predicate in inner.predicates for index in _fields(predicate)})
    width = len(expressions)
    positions = {index: width + place for place, index in enumerate(needed)}
    extra = tuple(inner.rows.field(index) for index in needed)
    names = unique_names((*rows.names, *(field.name or "$f" for field in extra)))
    return Decorrelated(
        Project(inner.rows, (*expressions, *extra), names),
        tuple(moved(predicate, positions) for predicate in inner.predicates),
        None
        if inner.empty is None
        else tuple(_of_nothing(expression, inner.empty) for expression in expressions),
    )


def _of_nothing(
    expression: ResolvedExpression, empty: tuple[ResolvedExpression, ...]
) -> ResolvedExpression:
    """Value of an expression over an empty query result."""
    value = substituted(expression, lambda field: empty[field.index])
    null = ValueLiteral(None, value.output_type.with_nullable(True))
    return null if is_always_null(value) else value


def _fields(expression: ResolvedExpression) -> Iterator[int]:
    if isinstance(expression, FieldReference):
        yield expression.index
    for child in expression.children():
        yield from _fields(child)


def _keyed(inner: Decorrelated, around: RelNode | None) -> tuple[Decorrelated, list[int]]:
    """The query, and the columns by which the outer row selects its rows."""
    keyed = _with_key_columns(inner)
    keys = [_key(predicate) for predicate in keyed.predicates]
    if None not in keys:
        return keyed, list(dict.fromkeys(key for key in keys if key is not None))
    if _domain(around) is None:
        odd = next(
            predicate for predicate, key in zip(keyed.predicates, keys, strict=True) if key is None
        )
        raise UnsupportedQueryError(
            "a correlated subquery with an aggregate or a LIMIT may compare its columns with "
            f"columns of the outer query only by =, not by {odd}",
            place_of(odd) or inner.rows.place,
        )
    beside, places = _beside(inner, around)
    return beside, list(places.values())


def _key(predicate: ResolvedExpression) -> int | None:
    """The query's column that must equal an expression of the outer row; None if the predicate
    is not such an equality."""
    equal = isinstance(predicate, Call) and predicate.function in (
        built_in.EQUALS,
        built_in.IS_NOT_DISTINCT_FROM,
    )
    sides = predicate.children() if equal else ()
    fields = [side for side in sides if isinstance(side, FieldReference)]
    others = [side for side in sides if not list(_fields(side))]
    return fields[0].index if len(fields) == 1 and len(others) == 1 else None


def _is_repeatable(rows: RelNode) -> bool:
    """Whether computing the rows twice gives the same rows."""
    own = all(map(is_deterministic, expressions_of(rows)))
    return own and all(map(_is_repeatable, rows.inputs))


def _domain(around: RelNode | None) -> RelNode | None:
    """Rows that contain all values of the outer rows and have no outer references themselves;
    None if there are no such rows, or if reading them twice could give other rows."""
    if around is None or not _is_repeatable(around):
        return None
    rows = _wider(around)
    return None if has_any_outer(rows) else rows


def _wider(rows: RelNode) -> RelNode:
    """The rows without the filters that have outer references."""
    if isinstance(rows, Filter):
        kept = [part for part in conjuncts(rows.condition) if not refers_outside(part)]
        return filtered(_wider(rows.input), kept)
    if isinstance(rows, Project):
        return replace(rows, input=_wider(rows.input))
    if isinstance(rows, Join) and not rows.lateral:
        rows = replace(rows, left=_wider(rows.left))
        if rows.kind is JoinKind.INNER:
            kept = [part for part in conjuncts(rows.condition) if not refers_outside(part)]
            rows = replace(rows, right=_wider(rows.right), condition=conjunction(kept))
    return rows


def _asking(
    inner: Decorrelated, around: RelNode | None, also: Iterable[int] = ()
) -> tuple[RelNode, list[int]]:
    """The distinct rows of the outer columns that a query reads, and the positions of these
    columns."""
    read = sorted({*_read_of_outer(*inner.predicates), *also})
    rows = _domain(around)
    if rows is None:
        raise inner.rows.refusal(
            "this correlated subquery needs the rows of the query around it a second time, which "
            "is not possible here: write it as a join"
        )
    columns = tuple(rows.field(index) for index in read)
    names = unique_names(column.name or "$f" for column in columns)
    return Aggregate(Project(rows, columns, names), tuple(range(len(read))), ()), read


def _beside(
    inner: Decorrelated, around: RelNode | None, also: Iterable[int] = ()
) -> tuple[Decorrelated, dict[int, int]]:
    """The query joined with each distinct row of the outer columns that it reads, and the
    position of each outer column in the result. The outer columns become the query's keys."""
    if inner.empty is not None:
        return _beside_each(inner, around, also)
    asking, read = _asking(inner, around, also)
    width = len(inner.rows.row_type)
    places = {index: width + place for place, index in enumerate(read)}
    condition = conjunction([_of_columns(predicate, places) for predicate in inner.predicates])
    both = unique_names((*inner.rows.row_type.names, *asking.row_type.names))
    join = Join(inner.rows, asking, JoinKind.INNER, condition, both, place=inner.rows.place)
    return Decorrelated(join, _same(join, places, around)), places


def _same(
    rows: RelNode, places: dict[int, int], around: RelNode | None
) -> tuple[ResolvedExpression, ...]:
    """Predicates that columns have the values of the outer row."""
    assert around is not None
    predicates = []
    for index, place in places.items():
        outer = from_inside(around.field(index))
        nullable = outer.output_type.is_nullable
        function = built_in.IS_NOT_DISTINCT_FROM if nullable else built_in.EQUALS
        predicates.append(resolve_call(function, (rows.field(place), outer)))
    return tuple(predicates)


def _joined_to_each(
    inner: Decorrelated, rows: RelNode, around: RelNode | None, also: Iterable[int]
) -> tuple[Join, list[int]]:
    """Left join of each distinct row of the outer columns that a query reads with ``rows`` of
    the query."""
    asking, read = _asking(inner, around, also)
    places = {index: place for place, index in enumerate(read)}
    behind = {index: len(read) + index for index in range(len(rows.row_type))}
    conditions = [_of_columns(moved(predicate, behind), places) for predicate in inner.predicates]
    names = unique_names((*asking.row_type.names, *rows.row_type.names))
    kind = JoinKind.LEFT
    return Join(asking, rows, kind, conjunction(conditions), names, place=rows.place), read


def _beside_each(
    inner: Decorrelated, around: RelNode | None, also: Iterable[int] = ()
) -> tuple[Decorrelated, dict[int, int]]:
    """Variant of `_beside` that also has a row where the query finds nothing."""
    rows, mark = with_mark(inner)
    join, read = _joined_to_each(inner, rows, around, also)
    first = len(read)
    columns = filled(join, first, inner.empty, None if mark is None else first + mark)
    fields = (*columns, *map(join.field, range(first)))
    named = join.row_type.names
    names = unique_names((*named[first : first + len(columns)], *named[:first]))
    result = Project(join, fields, names)
    places = {index: len(columns) + place for place, index in enumerate(read)}
    return Decorrelated(result, _same(result, places, around)), places


def _with_row(inner: Decorrelated, around: RelNode | None) -> Decorrelated:
    """The query, including the row that it returns where it finds nothing."""
    return inner if inner.empty is None else _beside_each(inner, around)[0]


def with_mark(inner: Decorrelated) -> tuple[RelNode, int | None]:
    """The query's rows with an added column that is never NULL, and the column's position. After
    an outer join, NULL in this column means that there is no row. If no default value depends on
    this, no column is added, and the position is None."""
    rows = inner.rows
    for index, value in enumerate(inner.empty or ()):
        if not _is_null(value) and rows.field(index).output_type.is_nullable:
            width = len(rows.row_type)
            fields = (*map(rows.field, range(width)), _TRUE)
            return Project(rows, fields, unique_names((*rows.row_type.names, "$found"))), width
    return rows, None


def filled(
    join: RelNode, first: int, empty: tuple[ResolvedExpression, ...] | None, mark: int | None
) -> list[ResolvedExpression]:
    """The columns of a query in a left join, with the query's default values where the query found
    no row.

    Args:
        first: position of the first of these columns.
        mark: the column of `with_mark`.
    """
    columns = []
    for index, value in enumerate(empty or ()):
        column: ResolvedExpression = join.field(first + index)
        if not _is_null(value):
            kind = column.output_type.with_nullable(value.output_type.is_nullable)
            if mark is None:
                column = Call(built_in.COALESCE, (column, value), kind)
            else:
                there = Call(built_in.IS_NOT_NULL, (join.field(mark),), _TRUE.type)
                column = Call(built_in.CASE, (there, column, value), kind.with_nullable(True))
        columns.append(column)
    return columns


def _is_null(expression: ResolvedExpression) -> bool:
    return isinstance(expression, ValueLiteral) and expression.value is None


def _read_of_outer(*expressions: ResolvedExpression) -> Iterator[int]:
    """Columns of the outer row that expressions read."""
    for expression in expressions:
        if isinstance(expression, OuterReference) and expression.level == 1:
            yield expression.index
        yield from _read_of_outer(*expression.children())


def _of_columns(expression: ResolvedExpression, places: dict[int, int]) -> ResolvedExpression:
    """The expression with references to the outer row replaced by columns of the same row."""
    if isinstance(expression, OuterReference) and expression.level == 1:
        return FieldReference(places[expression.index], expression.type, expression.name)
    children = tuple(_of_columns(child, places) for child in expression.children())
    return expression.with_children(children) if children else expression


def _with_key_columns(inner: Decorrelated) -> Decorrelated:
    """The query with computed keys such as ``CAST(k AS BIGINT)`` appended as columns, if they
    must equal an expression of the outer row."""
    width, computed = len(inner.rows.row_type), list[ResolvedExpression]()
    predicates = []
    for given in inner.predicates:
        predicate = given
        if isinstance(given, Call) and given.function is built_in.EQUALS:
            sides = list(given.arguments)
            own = [n for n, side in enumerate(sides) if not is_outer(side) and side.children()]
            if len(own) == 1 and not list(_fields(sides[1 - own[0]])):
                kind = sides[own[0]].output_type
                computed.append(sides[own[0]])
                sides[own[0]] = FieldReference(width + len(computed) - 1, kind, "$key")
                predicate = replace(given, arguments=tuple(sides))
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
    asked = _with_row(decorrelated(rows.input, around), around)
    empty = tuple(map(value_of_nothing, rows.calls))
    if not rows.groups and None in empty:
        return _aggregate_of_each(rows, asked, around)
    inner, inner_keys = _keyed(asked, around)
    keys = [key for key in inner_keys if key not in rows.groups]
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
    names = unique_names((*rows.row_type.names, *(field.name for field in fields[-len(keys) :])))
    result = Project(made, fields, names[: len(fields)])
    positions = {index: place for place, index in enumerate(rows.groups)}
    positions |= {key: first + len(calls) + place for place, key in enumerate(keys)}
    return Decorrelated(
        result,
        tuple(moved(predicate, positions) for predicate in inner.predicates),
        None if rows.groups else tuple(value for value in empty if value is not None),
    )


def _aggregate_of_each(
    rows: Aggregate, inner: Decorrelated, around: RelNode | None
) -> Decorrelated:
    """An aggregate per row of the outer columns, for aggregate functions whose value over no
    rows only an accumulator knows. A placeholder row stands for no rows, and is not counted."""
    width = len(inner.rows.row_type)
    marked = (*map(inner.rows.field, range(width)), _TRUE)
    names = unique_names((*inner.rows.row_type.names, "$found"))
    join, read = _joined_to_each(inner, Project(inner.rows, marked, names), around, ())
    first, behind = len(read), len(join.row_type)
    has_match = resolve_call(built_in.IS_NOT_NULL, (join.field(behind - 1),))
    conditions, calls = list[ResolvedExpression](), list[AggregateCall]()
    for call in rows.calls:
        own = [] if call.filter is None else [join.field(first + call.filter)]
        conditions.append(conjunction([has_match, *own]))
        arguments = tuple(first + index for index in call.arguments)
        place = behind + len(conditions) - 1
        calls.append(replace(call, arguments=arguments, filter=place))
    fields = (*map(join.field, range(behind)), *conditions)
    names = unique_names((*join.row_type.names, *("$f" for _ in conditions)))
    named = unique_names((*join.row_type.names[:first], *(call.name for call in calls)))
    calls = [replace(call, name=name) for call, name in zip(calls, named[first:], strict=True)]
    keys = tuple(range(first))
    made = Aggregate(Project(join, fields, names), keys, tuple(calls), place=rows.place)
    order = [*range(first, first + len(calls)), *keys]
    names = unique_names((*rows.row_type.names, *named[:first]))
    result = Project(made, tuple(map(made.field, order)), names)
    places = {index: len(calls) + place for place, index in enumerate(read)}
    return Decorrelated(result, _same(result, places, around))


def _top(rows: Sort, around: RelNode | None) -> Decorrelated:
    """LIMIT per row of the outer query, as the first rows per key."""
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
    return replace(inner, rows=rank, empty=None if rows.offset else inner.empty)


def _over(rows: OverAggregate, around: RelNode | None) -> Decorrelated:
    """OVER per row of the outer query, partitioned by the keys as well."""
    inner, keys = _keyed(_with_row(decorrelated(rows.input, around), around), around)
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
    predicates = tuple(moved(predicate, positions) for predicate in inner.predicates)
    return Decorrelated(Project(made, tuple(map(made.field, order)), names), predicates)


def _join(rows: Join, around: RelNode | None) -> Decorrelated:
    left = _with_row(decorrelated(rows.left, around), around)
    right = _with_row(decorrelated(rows.right, around), around)
    parts = conjuncts(rows.condition)
    old_left, old_right = len(rows.left.row_type), len(rows.right.row_type)
    inner = rows.kind is JoinKind.INNER
    if not inner and (right.predicates or any(map(is_outer, parts))):
        # which rows match depends on the row around: both sides have theirs for each such row
        read = {*_read_of_outer(*left.predicates, *right.predicates, *parts)}
        left, places = _beside(left, around, read)
        right, others = _beside(right, around, read)
    else:
        places, others = {}, {}
    new_left = len(left.rows.row_type)
    shift = {i: i for i in range(old_left)} | {old_left + i: new_left + i for i in range(old_right)}
    moved_parts = [_of_columns(moved(part, shift), places) for part in parts]
    kept = [part for part in moved_parts if not is_outer(part)]
    for index, place in places.items():
        other = right.rows.field(others[index])
        pair = left.rows.field(place), replace(other, index=new_left + other.index)
        kept.append(resolve_call(built_in.IS_NOT_DISTINCT_FROM, pair))
    shown = rows.kind not in (JoinKind.SEMI, JoinKind.ANTI)
    both = (*left.rows.row_type.names, *(right.rows.row_type.names if shown else ()))
    names = unique_names(both)
    join = replace(rows, left=left.rows, right=right.rows, condition=conjunction(kept), names=names)
    first = [shift[index] for index in range(len(rows.row_type))]
    total = len(names) if inner else new_left
    order = [*first, *(index for index in range(total) if index not in first)]
    positions = {index: place for place, index in enumerate(order)}
    fields = tuple(join.field(index) for index in order)
    result = Project(join, fields, unique_names(field.name for field in fields))
    predicates = [moved(predicate, positions) for predicate in left.predicates]
    if inner:
        of_right = {index: positions[new_left + index] for index in range(total - new_left)}
        predicates += [moved(predicate, of_right) for predicate in right.predicates]
        predicates += [moved(part, positions) for part in moved_parts if is_outer(part)]
    return Decorrelated(result, tuple(predicates))


def joined_condition(
    predicates: tuple[ResolvedExpression, ...], width: int
) -> list[ResolvedExpression]:
    """Conditions of a join of outer rows with the query's rows, made from predicates on the query's
    row."""

    def inner(reference: FieldReference) -> ResolvedExpression:
        return FieldReference(reference.index + width, reference.type, reference.name)

    return [outer_fields(substituted(predicate, inner)) for predicate in predicates]


def outer_fields(expression: ResolvedExpression) -> ResolvedExpression:
    """The expression with fields in place of references to the outer row. In references to queries
    outside of the outer query, the level becomes one less."""
    if isinstance(expression, OuterReference):
        if expression.level == 1:
            return FieldReference(expression.index, expression.type, expression.name)
        return replace(expression, level=expression.level - 1)
    children = expression.children()
    return expression.with_children(tuple(map(outer_fields, children))) if children else expression


def nearer(rows: RelNode) -> RelNode:
    """The rows of a subquery that has been merged into its outer query. In references to queries
    outside of the outer query, the level becomes one less.
    """
    for level in (2, 3):
        if has_outer(rows, level):
            rows = map_outer(
                rows, level, lambda reference: replace(reference, level=reference.level - 1)
            )
    return rows
