"""`ExpressionBinder`: turns the syntax of expressions into resolved expressions over the rows of
a scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar, Final

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import CharType, RowType, VarCharType
from millrace.expressions import built_in
from millrace.expressions.call_options import FieldPosition, JsonKind, TemporalUnit
from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.parameters import INTERVALS
from millrace.expressions.registry import resolve_cast
from millrace.expressions.resolved import Call, Cast, ResolvedExpression, ValueLiteral
from millrace.planner.binder.aggregate_calls import Clause, bind_aggregate, bind_grouping, bind_over
from millrace.planner.binder.calls import (
    called_function,
    function_kind,
    resolved_call,
    split_arguments,
)
from millrace.planner.binder.casts import cast_to
from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.literals import LiteralError, bind_literal, negative_literal
from millrace.planner.binder.scope import AmbiguousNameError, Scope
from millrace.planner.relational.rel_node import RelNode, Subquery, SubqueryKind
from millrace.sql.dialect import nodes
from millrace.sql.dialect.nodes import names_of

__all__ = ["ExpressionBinder"]

_COMPARISONS: Final[dict[type[exp.Expr], FunctionDefinition]] = {
    exp.EQ: built_in.EQUALS,
    exp.NEQ: built_in.NOT_EQUALS,
    exp.LT: built_in.LESS_THAN,
    exp.LTE: built_in.LESS_THAN_OR_EQUAL,
    exp.GT: built_in.GREATER_THAN,
    exp.GTE: built_in.GREATER_THAN_OR_EQUAL,
}
_BINARY: Final[dict[type[exp.Expr], FunctionDefinition]] = {
    **_COMPARISONS,
    exp.Add: built_in.PLUS,
    nodes.Plus: built_in.PLUS,
    exp.Sub: built_in.MINUS,
    exp.Mul: built_in.TIMES,
    exp.Div: built_in.DIVIDE,
    exp.Mod: built_in.MOD,
    exp.DPipe: built_in.CONCAT_OPERATOR,
    exp.And: built_in.AND,
    exp.Or: built_in.OR,
    exp.NullSafeEQ: built_in.IS_NOT_DISTINCT_FROM,
    exp.NullSafeNEQ: built_in.IS_DISTINCT_FROM,
    exp.Like: built_in.LIKE,
    exp.SimilarTo: built_in.SIMILAR,
}

_TEXTS = (CharType, VarCharType)
JSON_MAKERS = ("JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECTAGG", "JSON_ARRAYAGG")
GROUPING_FUNCTIONS = ("GROUPING", "GROUPING_ID")
_PERIOD_LENGTHS = (logical.DayTimeIntervalType, logical.YearMonthIntervalType)
_PERIOD_CONDITIONS = {
    "OVERLAPS": (
        ("begin", built_in.LESS_THAN_OR_EQUAL, "end"),
        ("end", built_in.GREATER_THAN_OR_EQUAL, "begin"),
    ),
    "CONTAINS": (
        ("begin", built_in.LESS_THAN_OR_EQUAL, "begin"),
        ("end", built_in.GREATER_THAN_OR_EQUAL, "end"),
    ),
    "EQUALS": (("begin", built_in.EQUALS, "begin"), ("end", built_in.EQUALS, "end")),
    "PRECEDES": (("end", built_in.LESS_THAN_OR_EQUAL, "begin"),),
    "SUCCEEDS": (("begin", built_in.GREATER_THAN_OR_EQUAL, "end"),),
    "IMMEDIATELY PRECEDES": (("end", built_in.EQUALS, "begin"),),
    "IMMEDIATELY SUCCEEDS": (("begin", built_in.EQUALS, "end"),),
}
"""Compared ends of the left and the right period, and the comparisons, by predicate."""


class ExpressionBinder:
    """Binds expressions over the rows of a scope.

    Args:
        clause: clause of the query, for errors.
        aggregates: whether aggregate functions may stand here.
        windows: named windows of the SELECT; None if OVER is not allowed here.
    """

    def __init__(
        self,
        context: BindingContext,
        scope: Scope,
        common: CommonTables,
        clause: str = "an expression",
        aggregates: bool = False,
        windows: Mapping[str, nodes.WindowSpecification] | None = None,
        special: Callable[[exp.Expr], ResolvedExpression | None] | None = None,
    ) -> None:
        self.context = context
        self.scope = scope
        self.common = common
        self.clause = Clause(context, clause, self.bind, aggregates, windows)
        self._special = special

    def bind(self, node: exp.Expr) -> ResolvedExpression:
        """The resolved expression of a syntax node.

        Raises:
            SqlValidationError: a name is unknown, or types do not fit.
        """
        if self._special is not None and (special := self._special(node)) is not None:
            return special
        for kind in type(node).__mro__:
            method = self._METHODS.get(kind)
            if method is not None:
                return self._placed(node, method(self, node))
        raise self.context.refusal(
            node, f"{type(node).__name__} is not allowed in {self.clause.name}"
        )

    def _placed(self, node: exp.Expr, bound: ResolvedExpression) -> ResolvedExpression:
        """The expression with its position in the statement, which errors at run time show."""
        if not isinstance(bound, Call | Cast) or bound.place is not None:
            return bound
        place = self.context.place(node)
        return bound if place is None else replace(bound, place=place)

    def condition(self, node: exp.Expr) -> ResolvedExpression:
        """The resolved condition, whose type must be BOOLEAN."""
        return self.clause.condition(node)

    def call(
        self, node: exp.Expr, function: FunctionDefinition, *arguments: ResolvedExpression
    ) -> ResolvedExpression:
        """The resolved call of a function which SQL's syntax stands for, such as the function of an
        operator.
        """
        return resolved_call(self.context, node, function, arguments)

    def query(self, node: exp.Expr) -> RelNode:
        """The bound tree of a query inside this expression, which may be in brackets."""
        query = node.this if isinstance(node, exp.Subquery) else node
        return self.context.bind_query(query, self.scope, self.common)

    # names

    def _names(self, node: exp.Expr) -> ResolvedExpression:
        names = names_of(node)
        if names is None:
            assert isinstance(node, exp.Dot)
            return self.field(node, self.bind(node.this), node.expression.name)
        try:
            matched = self.scope.find(names)
        except AmbiguousNameError as error:
            advice = (
                "the query has two columns with this name: rename one of them with AS"
                if error.within_one
                else "write the table's name before the column"
            )
            raise self.context.refusal(
                node, f"column {str(error)!r} is ambiguous: {advice}"
            ) from None
        if matched is None:
            known = list(self.scope.names())
            shown = ".".join(names)
            tables = self.scope.table_names()
            if len(names) == 2 and names[1] in known and names[0] not in tables:
                hint = did_you_mean(names[0], tables)
                reason = f"column {shown!r}: there is no table {names[0]!r} in FROM{hint}"
                raise self.context.refusal(node, reason)
            hint = did_you_mean(names[-1], known)
            if not known and self.clause.name == "SELECT":
                hint = ": the query has no FROM"
            raise self.context.refusal(node, f"column {shown!r} is not in any table{hint}")
        return reduce(
            lambda row, name: self.field(node, row, name), matched.fields, matched.expression
        )

    def field(self, node: exp.Expr, row: ResolvedExpression, name: str) -> ResolvedExpression:
        """A reference to a field of a nested row."""
        kind = row.output_type
        if not isinstance(kind, RowType):
            raise self.context.refusal(node, f"{row} has no field {name!r}: it is of type {kind}")
        if name not in kind.names:
            hint = did_you_mean(name, kind.names)
            raise self.context.refusal(node, f"{row} of type {kind} has no field {name!r}{hint}")
        position = kind.names.index(name)
        field_type = kind.fields[position].type
        nullable = field_type.is_nullable or kind.is_nullable
        return Call(
            built_in.GET, (row,), field_type.with_nullable(nullable), FieldPosition(position)
        )

    def _bound(self, node: exp.Expr) -> ResolvedExpression:
        bound: ResolvedExpression = node.args["this"]
        return bound

    def _field_at(self, node: exp.Expr) -> ResolvedExpression:
        row, position = self.bind(node.this), int(node.args["position"])
        kind = row.output_type
        if not isinstance(kind, RowType) or not 0 <= position < len(kind):
            raise self.context.refusal(node, f"{row} of type {kind} has no field {position}")
        return self.field(node, row, kind.names[position])

    def _literal(self, node: exp.Expr) -> ResolvedExpression:
        return self._constant(node, bind_literal, node)

    def _constant(
        self, node: exp.Expr, make: Callable[[Any], ValueLiteral], given: exp.Expr | str
    ) -> ValueLiteral:
        try:
            return make(given)
        except LiteralError as error:
            raise self.context.refusal(node, str(error)) from None

    # operators

    def _binary(self, node: exp.Expr) -> ResolvedExpression:
        right = node.expression
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(node, _BINARY[type(node)])
        return self._compared(node, _BINARY[type(node)], self.bind(node.this), self.bind(right))

    def _compared(
        self,
        node: exp.Expr,
        function: FunctionDefinition,
        left: ResolvedExpression,
        right: ResolvedExpression,
    ) -> ResolvedExpression:
        """The call of a comparison operator. Row constructors are compared field by field: with
        a NULL in one of them the result may be unknown."""
        pair = (left, right)
        if function not in (built_in.EQUALS, built_in.NOT_EQUALS) or not all(map(_is_row, pair)):
            return self.call(node, function, *pair)
        fields = list(zip(left.children(), right.children(), strict=False))
        if len(left.children()) != len(right.children()):
            return self.call(node, function, *pair)
        parts = [self._compared(node, function, *operands) for operands in fields]
        if len(parts) == 1:
            return parts[0]
        return self.call(node, built_in.AND if function is built_in.EQUALS else built_in.OR, *parts)

    def _plus(self, node: exp.Expr) -> ResolvedExpression:
        operands = self.bind(node.this), self.bind(node.expression)
        of_texts = [isinstance(operand.output_type, _TEXTS) for operand in operands]
        if not any(of_texts):
            return self.call(node, built_in.PLUS, *operands)
        pairs = zip(operands, of_texts, strict=True)
        texts = (
            operand if is_text else cast_to(operand, VarCharType()) for operand, is_text in pairs
        )
        return self.call(node, built_in.CONCAT_OPERATOR, *texts)

    def _logical(self, node: exp.Expr) -> ResolvedExpression:
        kind, function = type(node), _BINARY[type(node)]
        operands: list[exp.Expr] = []
        pending = [node]
        while pending:
            part = pending.pop()
            if type(part) is kind:
                pending += [part.expression, part.this]
            else:
                operands.append(part)
        return self.call(node, function, *(self.condition(operand) for operand in operands))

    def _paren(self, node: exp.Expr) -> ResolvedExpression:
        return self.bind(node.this)

    def _time_difference(self, node: exp.Expr) -> ResolvedExpression:
        months = node.args["unit"] in ("YEAR", "MONTH")
        operands = self.bind(node.this.this), self.bind(node.this.expression)
        difference = resolved_call(
            self.context,
            node,
            built_in.MINUS,
            operands,
            TemporalUnit.MONTH if months else TemporalUnit.DAY,
        )
        if not isinstance(difference.output_type, INTERVALS):
            kinds = " and ".join(str(operand.output_type) for operand in operands)
            raise self.context.refusal(
                node, f"{node.args['unit']} makes an interval of two times, not of {kinds}"
            )
        return difference

    def _not(self, node: exp.Expr) -> ResolvedExpression:
        inner = node.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Is):
            return self._is(inner, negated=True)
        bound = self.condition(inner)
        negated = built_in.NEGATED_COMPARISONS
        if isinstance(bound, Call) and bound.function in negated:
            return self.call(node, negated[bound.function], *bound.arguments)
        return self.call(node, built_in.NOT, bound)

    def _is(self, node: exp.Expr, negated: bool = False) -> ResolvedExpression:
        what = node.expression
        if isinstance(what, exp.Null | nodes.Unknown):
            operand = self.bind(node.this)
            return self.call(node, built_in.IS_NOT_NULL if negated else built_in.IS_NULL, operand)
        made = self.call(
            node,
            built_in.IS_TRUE if bool(what.this) else built_in.IS_FALSE,
            self.condition(node.this),
        )
        return self.call(node, built_in.NOT, made) if negated else made

    def _is_json(self, node: exp.Expr) -> ResolvedExpression:
        return resolved_call(
            self.context,
            node,
            built_in.IS_JSON,
            (self.bind(node.this),),
            JsonKind(node.args["kind"]),
        )

    def _negative(self, node: exp.Expr) -> ResolvedExpression:
        inner = node.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return self._constant(node, negative_literal, inner.this)
        operand = self.bind(node.this)
        if isinstance(operand, ValueLiteral) and operand.value is not None:
            return ValueLiteral(-operand.value, operand.type)
        return self.call(node, built_in.MINUS_PREFIX, operand)

    def _escape(self, node: exp.Expr) -> ResolvedExpression:
        like = node.this
        arguments = (self.bind(like.this), self.bind(like.expression), self.bind(node.expression))
        sign = arguments[2]
        if isinstance(sign, ValueLiteral) and isinstance(sign.value, str) and len(sign.value) != 1:
            raise self.context.refusal(
                node.expression, f"Invalid escape character {sign.value!r}: it is one character"
            )
        return self.call(node, _BINARY[type(like)], *arguments)

    def _between(self, node: exp.Expr) -> ResolvedExpression:
        value = self.bind(node.this)
        low, high = self.bind(node.args["low"]), self.bind(node.args["high"])

        def within(least: ResolvedExpression, most: ResolvedExpression) -> ResolvedExpression:
            above, below = (
                self.call(node, built_in.GREATER_THAN_OR_EQUAL, value, least),
                self.call(node, built_in.LESS_THAN_OR_EQUAL, value, most),
            )
            return self.call(node, built_in.AND, above, below)

        if node.args.get("symmetric"):
            return self.call(node, built_in.OR, within(low, high), within(high, low))
        return within(low, high)

    def _in(self, node: exp.Expr) -> ResolvedExpression:
        query = node.args.get("query")
        if query is not None:
            return self._in_query(node, query)
        value = self.bind(node.this)
        members = [self.bind(member) for member in node.expressions]
        if isinstance(value.output_type, RowType):
            equal = [self._compared(node, built_in.EQUALS, value, member) for member in members]
            return equal[0] if len(equal) == 1 else self.call(node, built_in.OR, *equal)
        return self.call(node, built_in.IN, value, *members)

    def _case(self, node: exp.Expr) -> ResolvedExpression:
        subject = None if node.this is None else self.bind(node.this)
        arguments: list[ResolvedExpression] = []
        for branch in node.args["ifs"]:
            if subject is None:
                arguments.append(self.condition(branch.this))
            else:
                arguments.append(
                    self.call(branch, built_in.EQUALS, subject, self.bind(branch.this))
                )
            arguments.append(self.bind(branch.args["true"]))
        default = node.args.get("default")
        missing = ValueLiteral(None, logical.NullType())
        arguments.append(missing if default is None else self.bind(default))
        return self.call(node, built_in.CASE, *arguments)

    def _cast(self, node: exp.Expr) -> ResolvedExpression:
        operand, target = self.bind(node.this), node.args["to"].logical_type
        try:
            return resolve_cast(operand, target, isinstance(node, exp.TryCast))
        except JobDefinitionError as error:
            raise self.context.refusal(node, str(error)) from None

    # constructed values

    def _row(self, node: exp.Expr) -> ResolvedExpression:
        return self.call(node, built_in.ROW, *map(self.bind, node.expressions))

    def _array(self, node: exp.Expr) -> ResolvedExpression:
        return self.call(node, built_in.ARRAY, *map(self.bind, node.expressions))

    def _map(self, node: exp.Expr) -> ResolvedExpression:
        return self.call(node, built_in.MAP, *map(self.bind, node.expressions))

    def _item(self, node: exp.Expr) -> ResolvedExpression:
        return self.call(node, built_in.ITEM, self.bind(node.this), self.bind(node.expressions[0]))

    def _period_predicate(self, node: exp.Expr) -> ResolvedExpression:
        """The comparisons that a predicate of two periods means.

        A period is a pair of its begin and its end, or of its begin and its length; if its end is
        before its begin, they are exchanged.
        """
        kind = "OVERLAPS" if isinstance(node, nodes.Overlaps) else node.args["kind"]
        left, right = self._period(node.this), self._period(node.expression)
        comparisons = [
            self.call(node, operator, left[one], right[other])
            for one, operator, other in _PERIOD_CONDITIONS[kind]
        ]
        return (
            comparisons[0] if len(comparisons) == 1 else self.call(node, built_in.AND, *comparisons)
        )

    def _period(self, node: exp.Expr) -> dict[str, ResolvedExpression]:
        if len(node.expressions) != 2:
            raise self.context.refusal(
                node,
                "a period must be a pair in brackets: its begin and its end, or its begin "
                "and its length",
            )
        begin, end = (self.bind(part) for part in node.expressions)
        if isinstance(end.output_type, _PERIOD_LENGTHS):
            end = self.call(node, built_in.PLUS, begin, end)
        return {
            "begin": self.call(node, built_in.LEAST, begin, end),
            "end": self.call(node, built_in.GREATEST, begin, end),
        }

    # functions and queries

    def _function(self, node: exp.Expr) -> ResolvedExpression:
        assert isinstance(node, nodes.FunctionCall)
        name = node.name.upper()
        if name in GROUPING_FUNCTIONS:
            return bind_grouping(self.clause, node)
        if node.args.get("over") is not None:
            return bind_over(self.clause, node)
        if name == "CURRENT_DATABASE" and not node.arguments:
            database = self.context.catalog.current_database
            return ValueLiteral(database, logical.VarCharType(nullable=False))
        kind = function_kind(self.context, node)
        if kind is FunctionKind.AGGREGATE:
            return bind_aggregate(self.clause, node)
        if kind is FunctionKind.TABLE:
            raise self.context.refusal(
                node,
                f"{node.name} is a table function: write LATERAL TABLE({node.name}(...)) in FROM",
            )
        arguments, options = split_arguments(node.arguments, self.bind)
        definition = called_function(self.context, node)
        if definition is built_in.JSON:
            self._require_json_constructor(node)
        return resolved_call(self.context, node, definition, arguments, options)

    def _require_json_constructor(self, node: nodes.FunctionCall) -> None:
        """Refuse JSON(...) outside of a JSON constructor: it marks text that must not be quoted,
        which has a meaning only there."""
        parent = node.parent
        if isinstance(parent, nodes.JsonEntry):
            parent = parent.parent
        if not isinstance(parent, nodes.FunctionCall) or parent.name.upper() not in JSON_MAKERS:
            raise self.context.refusal(
                node,
                "The JSON() function is currently only supported inside JSON_OBJECT() or "
                "JSON_ARRAY() as value; the text itself is JSON already, IS JSON tests it",
            )

    def _scalar_query(self, node: exp.Expr) -> ResolvedExpression:
        """A scalar query such as ``(SELECT MAX(a) FROM t)``: one column, at most one row."""
        relation = self.query(node)
        count = len(relation.row_type)
        if count != 1:
            raise self.context.refusal(
                node, f"a query that is used as a value must have one column, not {count}"
            )
        return Subquery(SubqueryKind.SCALAR, relation)

    def _exists(self, node: exp.Expr) -> ResolvedExpression:
        """``EXISTS (SELECT ...)``."""
        return Subquery(SubqueryKind.EXISTS, self.query(node.this))

    def _in_query(self, node: exp.Expr, query: exp.Expr) -> ResolvedExpression:
        """``a IN (SELECT b ...)``, ``(a, b) IN (SELECT c, d ...)``."""
        left = self.bind(node.this)
        relation = self.query(query)
        row = isinstance(left.output_type, RowType) and bool(left.children())
        operands = left.children() if row else (left,)
        fields = relation.row_type.fields
        if len(operands) != len(fields):
            raise self.context.refusal(
                node, f"IN compares {len(operands)} values with a query of {len(fields)} columns"
            )
        for index, operand in enumerate(operands):  # refuses types that cannot be compared
            self.call(node, built_in.EQUALS, operand, relation.field(index))
        return Subquery(SubqueryKind.IN, relation, operands)

    def _quantified(self, node: exp.Expr, comparison: FunctionDefinition) -> ResolvedExpression:
        """``a > ALL (SELECT b ...)``, ``a = SOME (SELECT b ...)``."""
        every = isinstance(node.expression, exp.All)
        relation = self.query(node.expression.this)
        operand = self.bind(node.this)
        if len(relation.row_type) != 1:
            raise self.context.refusal(node, "ALL and SOME need a query with one column")
        self.call(node, comparison, operand, relation.field(0))
        if not every and comparison is built_in.EQUALS:
            return Subquery(SubqueryKind.IN, relation, (operand,))
        if every and comparison is built_in.NOT_EQUALS:
            return self.call(node, built_in.NOT, Subquery(SubqueryKind.IN, relation, (operand,)))
        kind = SubqueryKind.ALL if every else SubqueryKind.SOME
        return Subquery(kind, relation, (operand,), comparison)

    _METHODS: ClassVar[dict[type, Callable[[Any, Any], ResolvedExpression]]] = {
        exp.Column: _names,
        exp.Dot: _names,
        nodes.Bound: _bound,
        nodes.FieldAt: _field_at,
        exp.Literal: _literal,
        exp.HexString: _literal,
        exp.Boolean: _literal,
        exp.Null: _literal,
        nodes.Unknown: _literal,
        nodes.TypedLiteral: _literal,
        nodes.IntervalLiteral: _literal,
        **dict.fromkeys(_BINARY, _binary),
        nodes.Plus: _plus,
        exp.And: _logical,
        exp.Or: _logical,
        exp.Paren: _paren,
        nodes.TimeDifference: _time_difference,
        exp.Not: _not,
        exp.Neg: _negative,
        exp.Is: _is,
        nodes.IsJson: _is_json,
        exp.Escape: _escape,
        exp.Between: _between,
        exp.In: _in,
        exp.Case: _case,
        exp.Cast: _cast,
        exp.TryCast: _cast,
        exp.Tuple: _row,
        nodes.RowConstructor: _row,
        nodes.ArrayConstructor: _array,
        nodes.MapConstructor: _map,
        nodes.Overlaps: _period_predicate,
        nodes.PeriodPredicate: _period_predicate,
        exp.Bracket: _item,
        nodes.FunctionCall: _function,
        exp.Subquery: _scalar_query,
        exp.Exists: _exists,
    }


def _is_row(expression: ResolvedExpression) -> bool:
    """Whether the expression is a row constructor."""
    return isinstance(expression, Call) and expression.function is built_in.ROW
