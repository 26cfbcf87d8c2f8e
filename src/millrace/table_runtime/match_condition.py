"""`ConditionCompiler`: compiles the condition of a MATCH_RECOGNIZE variable for the pattern
matcher.

Conditions on the row alone are computed for whole batches, and their results are in the row's bits.
So are parts that read one row taken before: ``LAST(B.price, 1) * 2`` is computed for every row as
if it were that row of B. The other parts compare values of several rows in Python. If Python has no
operator for a part, it is evaluated on a batch of one row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from millrace.common.functions.pattern_conditions import Condition
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.expressions import built_in
from millrace.expressions.evaluation import compiled, is_deterministic
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.pattern_expressions import (
    PatternAggregate,
    PatternFieldReference,
    RowsOf,
)
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression, rewritten
from millrace.runtime.cep.matcher import ConditionContext
from millrace.runtime.cep.partial_match import (
    BufferedEvent,
    MatchedEntry,
    PartialMatch,
    entries_between,
)
from millrace.table_runtime.match_aggregate import MatchAggregate, RunningAggregate
from millrace.table_runtime.match_rows import MatchedRow, RowColumns, column_of, plain_values

__all__ = ["ConditionCompiler"]

Find = Callable[[MatchedRow, PartialMatch | None], Any]
"""Function that gives the value of an expression, from the current row and the partial match."""

_COMPARISONS: dict[FunctionDefinition, Callable[[Any, Any], bool]] = {
    built_in.EQUALS: operator.eq,
    built_in.NOT_EQUALS: operator.ne,
    built_in.LESS_THAN: operator.lt,
    built_in.LESS_THAN_OR_EQUAL: operator.le,
    built_in.GREATER_THAN: operator.gt,
    built_in.GREATER_THAN_OR_EQUAL: operator.ge,
}
_ARITHMETIC: dict[FunctionDefinition, Callable[[Any, Any], Any]] = {
    built_in.PLUS: operator.add,
    built_in.MINUS: operator.sub,
    built_in.TIMES: operator.mul,
}


class ConditionCompiler:
    """Compiles conditions.

    Args:
        columns: values of the rows. Missing ones are added.
        first: variable of the first row, if that variable is always exactly one row; or "".
    """

    def __init__(self, columns: RowColumns, first: str) -> None:
        self._columns = columns
        self._first = first

    def condition(
        self, alone: ResolvedExpression | None, others: tuple[ResolvedExpression, ...]
    ) -> Condition | None:
        """A condition that holds if all its parts are TRUE.

        Args:
            alone: condition on the row alone, computed for every row. None if there is none.
            others: conditions that may read rows taken before, or may fail.
        """
        if alone is None and not others:
            return None
        bit = 0 if alone is None else self._columns.condition(alone)
        if not others:
            return Condition(lambda row: row[0] & bit)
        tests = [self._compiled(part) for part in others]
        if not any(_looks_back(part) for part in others):
            return Condition(
                lambda row: (not bit or row[0] & bit) and all(test(row, None) for test in tests)
            )
        if len(tests) == 1:
            (test,) = tests
            return Condition(
                lambda row, ctx: (not bit or row[0] & bit) and test(row, _match(ctx)),
                iterative=True,
            )
        return Condition(
            lambda row, ctx: (
                (not bit or row[0] & bit) and all(test(row, _match(ctx)) for test in tests)
            ),
            iterative=True,
        )

    # -- expressions -------------------------------------------------------------------------

    def _compiled(self, expression: ResolvedExpression) -> Find:
        sources = set(_sources(expression))
        of_one = len(sources) <= 1 and not any(isinstance(s, PatternAggregate) for s in sources)
        if of_one and (find := self._of_one_row(expression, sources)) is not None:
            return find
        if isinstance(expression, PatternAggregate):
            return self._aggregate(expression)
        if isinstance(expression, Call) and (made := self._operator(expression)) is not None:
            return made
        return self._evaluated(expression)

    def _of_one_row(self, expression: ResolvedExpression, sources: set[Any]) -> Find | None:
        """Finder of an expression over one row, whose values are computed for every row. None if
        the computation might fail."""
        of_row = rewritten(expression, _as_field)
        evaluator = compiled(of_row, self._columns.input_type, self._columns.session)
        if evaluator.may_fail or not is_deterministic(of_row):
            return None
        place = self._columns.place(of_row)
        source = next(iter(sources), None)
        if source is None:
            return lambda row, match: row[place]
        fields = self._columns.input_type.fields
        nulls = pa.record_batch(
            [pa.nulls(1, arrow_type(field.type)) for field in fields],
            [str(number) for number in range(len(fields))],
        )
        missing = plain_values(evaluator(nulls))[0]
        find = self._finder(*source)

        def value(row: MatchedRow, match: PartialMatch | None) -> Any:
            matched_row = find(row, match)
            return missing if matched_row is None else matched_row[place]

        return value

    def _finder(self, rows: RowsOf, first: bool, offset: int) -> Find:
        """Function that finds one of the matched rows, or None if there is no such row."""
        names = frozenset(rows.variables)
        if offset == 0 and rows.variables == (self._first,) and not rows.current:
            return lambda row, match: None if match is None else match.start.value
        if first:
            whole = _rows_finder(rows)

            def nth(row: MatchedRow, match: PartialMatch | None) -> MatchedRow | None:
                matched = whole(row, match)
                return matched[offset] if offset < len(matched) else None

            return nth
        back = offset - 1 if rows.current else offset

        def last(row: MatchedRow, match: PartialMatch | None) -> MatchedRow | None:
            if back < 0:
                return row
            if match is None:
                return None
            left, entry, start = back, match.last, match.start
            while True:
                if not names or entry.name in names:
                    if left == 0:
                        value: MatchedRow = entry.event.value
                        return value
                    left -= 1
                if entry.event is start or entry.before is None:
                    return None
                entry = entry.before

        return last

    def _aggregate(self, expression: PatternAggregate) -> Find:
        aggregate = MatchAggregate(expression, self._columns)
        if aggregate.running is not None:
            return _TakenSoFar(aggregate.running, expression.rows)
        rows, of_rows = _rows_finder(expression.rows), aggregate.of_rows
        return lambda row, match: of_rows(rows(row, match))

    # -- operators -----------------------------------------------------------------------------

    def _operator(self, call: Call) -> Find | None:
        """Finder of an operator that has the same result in Python. None if there is no such
        operator."""
        function, arguments = call.function, call.arguments
        if function in (built_in.AND, built_in.OR):
            operands = [self._compiled(argument) for argument in arguments]
            return _connected(operands, function is built_in.OR)
        if function in _OF_ONE:
            return _OF_ONE[function](self._compiled(arguments[0]))
        if len(arguments) != 2 or not _alike(*(argument.output_type for argument in arguments)):
            return None
        if function in _COMPARISONS:
            return _of_two(
                _COMPARISONS[function], self._compiled(arguments[0]), self._compiled(arguments[1])
            )
        if function in _ARITHMETIC and (as_result := _arithmetic_result(call)) is not None:
            plain = _ARITHMETIC[function]
            left, right = map(self._compiled, arguments)
            return _of_two(lambda one, two: as_result(plain(one, two)), left, right)
        return None

    def _evaluated(self, expression: ResolvedExpression) -> Find:
        """Finder of any other expression: it is evaluated on a batch of one row, with a column
        per value that the expression needs."""
        leaves: dict[ResolvedExpression, int] = {}

        def leaf(part: ResolvedExpression) -> ResolvedExpression:
            if isinstance(part, FieldReference | PatternFieldReference | PatternAggregate):
                return FieldReference(leaves.setdefault(part, len(leaves)), part.type)
            return part

        made = _replaced(expression, leaf)
        finds = [self._compiled(part) for part in leaves]
        types = [part.output_type for part in leaves]
        names = [f"f{number}" for number in range(len(types))]
        pairs = zip(names, types, strict=True)
        row_type = RowType(tuple(RowField(name, kind) for name, kind in pairs))
        evaluator = compiled(made, row_type, self._columns.session)
        arrow = [arrow_type(kind) for kind in types]

        def value(row: MatchedRow, match: PartialMatch | None) -> Any:
            columns = [
                column_of([find(row, match)], kind) for find, kind in zip(finds, arrow, strict=True)
            ]
            batch = pa.record_batch(columns, names) if names else _ONE_ROW
            return plain_values(evaluator(batch, self._columns.instant))[0]

        return value


class _TakenSoFar:
    """A running aggregate over the rows of partial matches. The state for a partial match is kept,
    so that its next row is added to this state.
    """

    def __init__(self, running: RunningAggregate, rows: RowsOf) -> None:
        self._running = running
        self._names = frozenset(rows.variables)
        self._current = rows.current
        self._known: dict[tuple[MatchedEntry, BufferedEvent], Any] = {}
        """States by the last and the first row of a match."""

    def __call__(self, row: MatchedRow, match: PartialMatch | None) -> Any:
        running = self._running
        state = running.initial if match is None else self._of(match)
        if self._current:
            state = running.added(state, row)
        return running.result(state)

    def _of(self, match: PartialMatch) -> Any:
        known, start, running = self._known, match.start, self._running
        entry: MatchedEntry | None = match.last
        fresh: list[MatchedEntry] = []
        state = running.initial
        while entry is not None:
            if (entry, start) in known:
                state = known[entry, start]
                break
            fresh.append(entry)
            entry = None if entry.event is start else entry.before
        for entry in reversed(fresh):
            if not self._names or entry.name in self._names:
                state = running.added(state, entry.event.value)
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[match.last, start] = state
        return state


MOST_KNOWN = 10_000
"""Maximum number of kept states of running aggregates."""
_ONE_ROW = pa.record_batch({"": [0]})


def _match(context: Any) -> PartialMatch | None:
    assert isinstance(context, ConditionContext)
    return context.match


def _as_field(expression: ResolvedExpression) -> ResolvedExpression:
    if isinstance(expression, PatternFieldReference):
        return FieldReference(expression.index, expression.type.with_nullable(True))
    return expression


def _replaced(
    expression: ResolvedExpression, leaf: Callable[[ResolvedExpression], ResolvedExpression]
) -> ResolvedExpression:
    """The expression with its leaves replaced. An aggregate counts as one leaf, whatever its
    arguments."""
    made = leaf(expression)
    children = () if isinstance(expression, PatternAggregate) else made.children()
    if made is not expression or not children:
        return made
    return made.with_children(tuple(_replaced(child, leaf) for child in children))


def _sources(expression: ResolvedExpression) -> Iterator[Any]:
    """Sources of the rows that an expression reads. None stands for the current row."""
    if isinstance(expression, FieldReference):
        yield None
    elif isinstance(expression, PatternFieldReference):
        yield expression.rows, expression.first, expression.offset
    elif isinstance(expression, PatternAggregate):
        yield expression
    else:
        for child in expression.children():
            yield from _sources(child)


def _looks_back(expression: ResolvedExpression) -> bool:
    return any(source is not None for source in _sources(expression))


def _rows_finder(rows: RowsOf) -> Callable[[MatchedRow, PartialMatch | None], list[MatchedRow]]:
    """Function that finds all matched rows of some variables, in order."""
    names, current = frozenset(rows.variables), rows.current

    def matched(row: MatchedRow, match: PartialMatch | None) -> list[MatchedRow]:
        taken = [] if match is None else entries_between(match.start, match.last)
        values = [entry.event.value for entry in taken if not names or entry.name in names]
        if current:
            values.append(row)
        return values

    return matched


def _alike(left: logical.LogicalType, right: logical.LogicalType) -> bool:
    """Whether Python compares plain values of the two types as SQL does."""
    if isinstance(left, logical.IntegralType) and isinstance(right, logical.IntegralType):
        return True
    one, two = arrow_type(left), arrow_type(right)
    if pa.types.is_decimal(one) and pa.types.is_decimal(two):
        return True
    return bool(one.equals(two)) and not pa.types.is_nested(one)


def _arithmetic_result(call: Call) -> Callable[[Any], Any] | None:
    kind = call.type
    types = [argument.output_type for argument in call.arguments]
    if isinstance(kind, logical.DoubleType):
        doubles = all(isinstance(operand_type, logical.DoubleType) for operand_type in types)
        return (lambda value: value) if doubles else None
    if not isinstance(kind, logical.IntegralType):
        return None
    if not all(isinstance(operand_type, logical.IntegralType) for operand_type in types):
        return None
    bits = arrow_type(kind).bit_width
    half = 1 << (bits - 1)
    return lambda value: (value + half) % (half + half) - half


def _of_two(call: Callable[[Any, Any], Any], left: Find, right: Find) -> Find:
    def value(row: MatchedRow, match: PartialMatch | None) -> Any:
        one = left(row, match)
        if one is None:
            return None
        two = right(row, match)
        return None if two is None else call(one, two)

    return value


def _negated(operand: Find) -> Find:
    def negated(row: MatchedRow, match: PartialMatch | None) -> Any:
        value = operand(row, match)
        return None if value is None else not value

    return negated


_OF_ONE: dict[FunctionDefinition, Callable[[Find], Find]] = {
    built_in.NOT: _negated,
    built_in.IS_NULL: lambda operand: lambda row, match: operand(row, match) is None,
    built_in.IS_NOT_NULL: lambda operand: lambda row, match: operand(row, match) is not None,
    built_in.IS_TRUE: lambda operand: lambda row, match: operand(row, match) is True,
    built_in.IS_FALSE: lambda operand: lambda row, match: operand(row, match) is False,
}


def _connected(operands: list[Find], wins: bool) -> Find:
    """Finder of AND, which one FALSE decides, or of OR, which one TRUE decides. ``wins`` is the
    deciding value."""

    def value(row: MatchedRow, match: PartialMatch | None) -> Any:
        result: bool | None = not wins
        for operand in operands:
            truth = operand(row, match)
            if truth is None:
                result = None
            elif truth is wins:
                return wins
        return result

    return value
