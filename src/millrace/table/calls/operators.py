"""Operators and conditions: comparison, logic, arithmetic, types."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.sql.dialect import nodes
from millrace.table.calls.call_builder import CallBuilder, node_of
from millrace.table.data_types import declared_type
from millrace.table.syntax import cast_node, identifier

__all__ = ["Operators"]


_PRECEDENCE: dict[type[exp.Expr], int] = {
    exp.Or: 1,
    exp.And: 2,
    exp.Not: 3,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), 4),
    **dict.fromkeys((exp.Like, exp.Escape, exp.SimilarTo, exp.Is, exp.Between, exp.In), 4),
    **dict.fromkeys((exp.Add, nodes.Plus, exp.Sub), 5),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod), 6),
    exp.Neg: 7,
}
"""Binding strength of operators; others are calls, around which no brackets are needed."""
_CALL = 8


def _operand(node: exp.Expr, kind: type[exp.Expr], right: bool = False) -> exp.Expr:
    """The operand of an operator, in brackets if the precedence of the operators requires them."""
    inner, outer = _PRECEDENCE.get(type(node), _CALL), _PRECEDENCE[kind]
    chained = type(node) is kind and issubclass(kind, exp.Connector)
    loose = inner < outer or (inner == outer and not chained and (right or outer in (4, 7)))
    return exp.Paren(this=node) if loose else node


def _is(operand: exp.Expr, what: exp.Expr, negated: bool = False) -> exp.Expr:
    made = exp.Is(this=_operand(operand, exp.Is), expression=what)
    return exp.Not(this=made) if negated else made


class Operators(CallBuilder):
    """Python's operators, and methods for conditions for which Python has no operator."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # == makes a condition, as in PyFlink

    def _binary(self, kind: type[exp.Expr], other: Any) -> Self:
        return self._operation(kind, self.node, node_of(other))

    def _reversed(self, kind: type[exp.Expr], other: Any) -> Self:
        return self._operation(kind, node_of(other), self.node)

    def _operation(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Self:
        return self._made(
            kind(this=_operand(left, kind), expression=_operand(right, kind, right=True))
        )

    def __bool__(self) -> bool:
        raise JobDefinitionError(
            f"the expression {self} has no truth value before the query runs: write & for "
            "and, | for or, ~ for not, with parentheses around comparisons"
        )

    def __add__(self, other: Any) -> Self:
        return self._binary(nodes.Plus, other)

    def __radd__(self, other: Any) -> Self:
        return self._reversed(nodes.Plus, other)

    def __sub__(self, other: Any) -> Self:
        return self._binary(exp.Sub, other)

    def __rsub__(self, other: Any) -> Self:
        return self._reversed(exp.Sub, other)

    def __mul__(self, other: Any) -> Self:
        return self._binary(exp.Mul, other)

    def __rmul__(self, other: Any) -> Self:
        return self._reversed(exp.Mul, other)

    def __truediv__(self, other: Any) -> Self:
        return self._binary(exp.Div, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._reversed(exp.Div, other)

    def __mod__(self, other: Any) -> Self:
        return self._binary(exp.Mod, other)

    def __rmod__(self, other: Any) -> Self:
        return self._reversed(exp.Mod, other)

    def __pow__(self, other: Any) -> Self:
        return self._call("POWER", other)

    def __rpow__(self, other: Any) -> Self:
        return self._made(node_of(other))._call("POWER", self)

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._binary(exp.EQ, other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._binary(exp.NEQ, other)

    def __lt__(self, other: Any) -> Self:
        return self._binary(exp.LT, other)

    def __le__(self, other: Any) -> Self:
        return self._binary(exp.LTE, other)

    def __gt__(self, other: Any) -> Self:
        return self._binary(exp.GT, other)

    def __ge__(self, other: Any) -> Self:
        return self._binary(exp.GTE, other)

    def __and__(self, other: Any) -> Self:
        return self._binary(exp.And, other)

    def __rand__(self, other: Any) -> Self:
        return self._reversed(exp.And, other)

    def __or__(self, other: Any) -> Self:
        return self._binary(exp.Or, other)

    def __ror__(self, other: Any) -> Self:
        return self._reversed(exp.Or, other)

    def __invert__(self) -> Self:
        return self._made(exp.Not(this=_operand(self.node, exp.Not)))

    def __neg__(self) -> Self:
        return self._made(exp.Neg(this=_operand(self.node, exp.Neg)))

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._call("ABS")

    @property
    def is_null(self) -> Self:
        """Whether the value is NULL."""
        return self._made(_is(self.node, exp.Null()))

    @property
    def is_not_null(self) -> Self:
        """Whether the value is not NULL."""
        return self._made(_is(self.node, exp.Null(), negated=True))

    @property
    def is_true(self) -> Self:
        """Whether a condition is TRUE, as opposed to FALSE or unknown."""
        return self._made(_is(self.node, exp.Boolean(this=True)))

    @property
    def is_false(self) -> Self:
        """Whether a condition is FALSE, as opposed to TRUE or unknown."""
        return self._made(_is(self.node, exp.Boolean(this=False)))

    @property
    def is_not_true(self) -> Self:
        """Whether a condition is FALSE or unknown."""
        return self._made(_is(self.node, exp.Boolean(this=True), negated=True))

    @property
    def is_not_false(self) -> Self:
        """Whether a condition is TRUE or unknown."""
        return self._made(_is(self.node, exp.Boolean(this=False), negated=True))

    def between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Whether the value lies between two bounds, both included."""
        return self._made(
            exp.Between(this=self.node, low=node_of(lower_bound), high=node_of(upper_bound))
        )

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Whether the value lies outside two bounds."""
        return self._made(exp.Not(this=self.between(lower_bound, upper_bound).node))

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Self:
        """Whether the value equals one of the given values, or a value in a table of one column."""
        query = getattr(first_element_or_table, "as_query", None)
        if query is not None:
            return self._made(exp.In(this=self.node, query=query()))
        members = [node_of(element) for element in (first_element_or_table, *remaining_elements)]
        return self._made(exp.In(this=self.node, expressions=members))

    def then(self, if_true: Any, if_false: Any) -> Self:
        """One value if this condition is true, else another.

        >>> from millrace.table.expressions import col
        >>> (col("a") > 0).then("more", "less")
        CASE WHEN a > 0 THEN 'more' ELSE 'less' END
        """
        branch = exp.If(this=self.node, true=node_of(if_true))
        return self._made(exp.Case(ifs=[branch], default=node_of(if_false)))

    def if_null(self, null_replacement: Any) -> Self:
        """The value, or a replacement if it is NULL."""
        return self._call("IFNULL", null_replacement)

    def cast(self, data_type: LogicalType | str) -> Self:
        """The value converted to a type; an error at run time if it cannot be converted."""
        return self._made(cast_node(self.node, declared_type(data_type)))

    def try_cast(self, data_type: LogicalType | str) -> Self:
        """The value converted to a type; NULL if it cannot be converted."""
        return self._made(cast_node(self.node, declared_type(data_type), safe=True))

    def as_argument(self, name: str) -> Self:
        """The value of a named argument of a call."""
        return self._made(exp.Kwarg(this=exp.Identifier(this=name), expression=self.node))

    def get(self, name_or_index: str | int) -> Self:
        """A field of a row, by name or by position from 0."""
        if isinstance(name_or_index, int):
            return self._made(nodes.FieldAt(this=self.node, position=name_or_index))
        return self._made(exp.Dot(this=self.node, expression=identifier(name_or_index)))

    @property
    def asc(self) -> Self:
        """Ascending order, for `Table.order_by`."""
        return self._made(exp.Ordered(this=self.node, desc=False))

    @property
    def desc(self) -> Self:
        """Descending order, for `Table.order_by`."""
        return self._made(exp.Ordered(this=self.node, desc=True))
