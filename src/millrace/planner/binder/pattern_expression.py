"""`PatternExpressionBinder`: expressions of MEASURES and DEFINE.

``A.price`` is the column of the last row that is mapped to A; in the condition of A that is the row
that is being looked at. A column without a variable is of all rows of the match.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    RowType,
    TimestampType,
)
from millrace.expressions import built_in
from millrace.expressions.call_options import CallOptions
from millrace.expressions.function_definition import FunctionKind
from millrace.expressions.pattern_expressions import (
    MatchRowtime,
    PatternAggregate,
    PatternFieldReference,
    RowsOf,
)
from millrace.expressions.registry import resolve_aggregate
from millrace.expressions.resolved import FieldReference, ResolvedExpression, ValueLiteral
from millrace.planner.binder.calls import called_function, function_kind, split_arguments
from millrace.planner.binder.casts import cast_to
from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.expression import ExpressionBinder
from millrace.planner.binder.row_pattern import RowPattern
from millrace.planner.binder.scope import Scope, table_of
from millrace.sql.dialect import nodes
from millrace.sql.dialect.nodes import names_of

__all__ = ["PatternExpressionBinder"]

_Special = Callable[["PatternExpressionBinder", nodes.FunctionCall], ResolvedExpression]


class PatternExpressionBinder:
    """Binds the expressions of one measure, or of one condition.

    Args:
        row_type: columns of the rows.
        variable: the variable of the condition; None for a measure.
    """

    def __init__(
        self,
        context: BindingContext,
        row_type: RowType,
        common: CommonTables,
        pattern: RowPattern,
        variable: str | None = None,
    ) -> None:
        self._context = context
        self._pattern = pattern
        self._variable = variable
        self._scope = Scope((table_of((), row_type),))
        self._clause = "MEASURES" if variable is None else "DEFINE"
        self._binder = ExpressionBinder(
            context, self._scope, common, self._clause, special=self._special
        )
        self._place: tuple[bool, int] | None = None
        """FIRST or not, and the offset, inside of such a call."""
        self._inside = ""
        """The aggregate or navigation function whose arguments these are."""
        self._used: set[RowsOf] = set()
        """The rows that the arguments of an aggregate or navigation function are of."""

    def bind(self, node: exp.Expr) -> ResolvedExpression:
        """The resolved expression of a measure."""
        return self._binder.bind(node)

    def condition(self, node: exp.Expr) -> ResolvedExpression:
        """The resolved condition of a pattern variable."""
        return self._binder.condition(node)

    # -- columns -------------------------------------------------------------------------

    def _special(self, node: exp.Expr) -> ResolvedExpression | None:
        if isinstance(node, exp.Column | exp.Dot):
            names = names_of(node)
            return None if names is None else self._column(node, names)
        if isinstance(node, nodes.MatchSemantics):
            return self._semantics(node)
        if isinstance(node, nodes.FunctionCall):
            return self._call(node)
        if isinstance(node, exp.Subquery | exp.Exists) or node.args.get("query") is not None:
            raise self._context.refusal(node, f"{self._clause} cannot contain a query")
        return None

    def _column(self, node: exp.Expr, names: tuple[str, ...]) -> ResolvedExpression:
        members = self._pattern.members(names[0]) if len(names) > 1 else None
        resolved = self._scope.find(names if members is None else names[1:])
        if resolved is None:
            known = [*self._scope.names()]
            shown = ".".join(names)
            if members is None and len(names) > 1:
                hint = did_you_mean(names[0], [*self._pattern.names, *self._pattern.subsets])
                reason = f"column {shown!r}: {names[0]!r} is not a variable of PATTERN{hint}"
                raise self._context.refusal(node, reason)
            hint = did_you_mean(names[-1], known)
            raise self._context.refusal(node, f"column {shown!r} is not in the table{hint}")
        column = resolved.expression
        assert isinstance(column, FieldReference)
        made = self._of_rows(column, self._rows(members or ()))
        return reduce(lambda row, name: self._binder.field(node, row, name), resolved.fields, made)

    def _rows(self, members: tuple[str, ...]) -> RowsOf:
        current = self._variable is not None and (not members or self._variable in members)
        return RowsOf(members, current)

    def _of_rows(self, column: FieldReference, rows: RowsOf) -> ResolvedExpression:
        self._used.add(rows)
        if self._inside and self._place is None:
            return column  # an aggregate's argument: of each of the rows
        first, offset = self._place or (False, 0)
        if rows.current and not first and offset == 0:
            return column
        kind = column.type
        there = self._variable is None and offset == 0 and self._pattern.occurs(rows.variables)
        if not there:
            kind = kind.with_nullable(True)
        return PatternFieldReference(rows, first, offset, column.index, kind, column.name)

    # -- calls ---------------------------------------------------------------------------

    def _semantics(self, node: nodes.MatchSemantics) -> ResolvedExpression:
        """The expression behind FINAL or RUNNING, which mean the same for the one row of a
        match."""
        if self._variable is not None:
            kind = node.args["kind"]
            raise self._context.refusal(node, f"Cannot use RUNNING/FINAL in DEFINE: {kind}")
        return self._binder.bind(node.this)

    def _call(self, node: nodes.FunctionCall) -> ResolvedExpression | None:
        name = node.name.upper()
        own = _FUNCTIONS.get(name) if len(node.path) == 1 else None
        if own is not None:
            return own(self, node)
        if node.args.get("over") is not None:
            raise self._context.refusal(node, f"OVER is not allowed in {self._clause}")
        if function_kind(self._context, node) is FunctionKind.AGGREGATE:
            return self._aggregate(node)
        return None

    def _navigation(self, node: nodes.FunctionCall) -> ResolvedExpression:
        """The expression of FIRST or LAST."""
        name = node.name.upper()
        self._enter(node, name)
        given, offset = self._with_offset(node, 0)
        self._inside, self._place, before = name, (name == "FIRST", offset), self._used
        self._used = set()
        try:
            made = self._binder.bind(given)
            self._one_variable(node)
        finally:
            self._inside, self._place, self._used = "", None, before
        return made

    def _physical(self, node: nodes.FunctionCall) -> ResolvedExpression:
        """The expression of PREV or NEXT, which Flink supports only with offset 0."""
        given, offset = self._with_offset(node, 1)
        if offset:
            raise self._context.refusal(
                node,
                "Flink does not support physical offsets within partition: LAST(A.x, 1) is the "
                f"row of A before, {node.name.upper()} would be any row of the partition",
            )
        return self._binder.bind(given)

    def _with_offset(self, node: nodes.FunctionCall, default: int) -> tuple[exp.Expr, int]:
        arguments = node.arguments
        if len(arguments) == 1:
            return arguments[0], default
        if len(arguments) == 2:
            bound = self._binder.bind(arguments[1])
            offset = bound.value if isinstance(bound, ValueLiteral) else None
            if isinstance(offset, int) and offset >= 0:
                return arguments[0], offset
        name = node.name.upper()
        raise self._context.refusal(
            node, f"{name} takes a column and a literal number of rows, 0 or more: {name}(A.x, 1)"
        )

    def _aggregate(self, node: nodes.FunctionCall) -> ResolvedExpression:
        name = node.name.upper()
        self._enter(node, name)
        if node.args.get("distinct"):
            raise self._context.refusal(
                node, f"DISTINCT aggregates are not supported in MATCH_RECOGNIZE: {name}"
            )
        if node.args.get("filter") is not None or node.args.get("order"):
            raise self._context.refusal(
                node, f"FILTER and ORDER BY of {name} are not supported in MATCH_RECOGNIZE"
            )
        self._inside, before, self._used = name, self._used, set()
        try:
            arguments, options = self._arguments(node)
            rows = self._one_variable(node)
        finally:
            self._inside, self._used = "", before
        function = called_function(self._context, node)
        types = tuple(argument.output_type for argument in arguments)
        try:
            if function.built_in:
                kind = resolve_aggregate(function, types, False, options)
            else:
                wanted, kind = function.infer(types)
                arguments = tuple(map(cast_to, arguments, wanted))
        except JobDefinitionError as error:
            raise self._context.refusal(node, str(error)) from None
        return PatternAggregate(function, rows, arguments, kind, options)

    def _arguments(
        self, node: nodes.FunctionCall
    ) -> tuple[tuple[ResolvedExpression, ...], CallOptions | None]:
        """The arguments and options of a call; ``COUNT(*)`` and ``COUNT(A.*)`` have no
        arguments."""
        given = []
        for argument in node.arguments:
            names = names_of(argument) if isinstance(argument, exp.Column) else None
            if isinstance(argument, exp.Star):
                self._used.add(self._rows(()))
            elif names is not None and names[-1] == "*":
                members = self._pattern.members(names[0])
                if members is None or len(names) > 2:
                    raise self._context.refusal(argument, self._pattern.unknown(names[0]))
                self._used.add(self._rows(members))
            else:
                given.append(argument)
        return split_arguments(given, self._binder.bind)

    def _enter(self, node: exp.Expr, name: str) -> None:
        if self._inside:
            raise self._context.refusal(node, f"Cannot nest {name} under {self._inside}")

    def _one_variable(self, node: exp.Expr) -> RowsOf:
        """The rows that the arguments read; refused if they belong to several variables."""
        if len(self._used) == 1:
            return next(iter(self._used))
        if self._used:
            shown = ", ".join(sorted(map(str, self._used)))
            raise self._context.refusal(
                node,
                f"Multiple pattern variables in {self._inside}: {shown}; it may refer to only one",
            )
        raise self._context.refusal(node, f"No pattern variable specified in {self._inside}")

    def _rowtime(self, node: nodes.FunctionCall) -> ResolvedExpression:
        self._only_in_measures(node)
        arguments = node.arguments
        if not arguments:
            return MatchRowtime(TimestampType(3, nullable=False))
        names = names_of(arguments[0])
        column = None if names is None else self._scope.find(names)
        kind = None if column is None else column.expression.output_type
        if len(arguments) > 1 or not isinstance(kind, TimestampType | LocalZonedTimestampType):
            raise self._context.refusal(
                node, "MATCH_ROWTIME takes no argument, or the column with the event time"
            )
        return MatchRowtime(kind)

    def _proctime(self, node: nodes.FunctionCall) -> ResolvedExpression:
        self._only_in_measures(node)
        return self._binder.call(node, built_in.PROCTIME)

    def _only_in_measures(self, node: nodes.FunctionCall) -> None:
        if self._variable is not None or self._inside:
            where = self._inside or self._clause
            raise self._context.refusal(node, f"{node.name.upper()} is not allowed in {where}")

    def _missing(self, node: nodes.FunctionCall) -> ResolvedExpression:
        raise self._context.refusal(
            node,
            f"{node.name.upper()} is not supported: it belongs to ALL ROWS PER MATCH",
        )


_FUNCTIONS: dict[str, _Special] = {
    "FIRST": PatternExpressionBinder._navigation,
    "LAST": PatternExpressionBinder._navigation,
    "PREV": PatternExpressionBinder._physical,
    "NEXT": PatternExpressionBinder._physical,
    "MATCH_ROWTIME": PatternExpressionBinder._rowtime,
    "MATCH_PROCTIME": PatternExpressionBinder._proctime,
    "CLASSIFIER": PatternExpressionBinder._missing,
    "MATCH_NUMBER": PatternExpressionBinder._missing,
}
