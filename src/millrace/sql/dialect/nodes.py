"""Nodes for syntax that sqlglot lacks, or whose sqlglot node loses Flink's meaning.

The table of all shapes is in `millrace.sql.dialect`.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from millrace.common.types.logical.logical_type import LogicalType

__all__ = [
    "AfterMatch",
    "ArrayConstructor",
    "Bound",
    "CollectionTable",
    "DefaultValue",
    "Descriptor",
    "FieldAt",
    "FrameBound",
    "FunctionCall",
    "Hint",
    "HintOption",
    "IntervalLiteral",
    "IsJson",
    "JoinedTables",
    "JsonBehavior",
    "JsonEntry",
    "MapConstructor",
    "MatchRecognize",
    "MatchSemantics",
    "ModelArgument",
    "NamedWindow",
    "Overlaps",
    "PatternAlternation",
    "PatternConcatenation",
    "PatternExclusion",
    "PatternPermutation",
    "PatternQuantifier",
    "PatternSubset",
    "PatternVariable",
    "PeriodPredicate",
    "RowConstructor",
    "SubqueryConstructor",
    "SystemTime",
    "TableArgument",
    "TableFunctionCall",
    "TimeUnit",
    "TypeName",
    "TypedLiteral",
    "Unknown",
    "WindowFrame",
    "WindowSpecification",
    "names_of",
]

_Arguments = dict[str, bool]


class FunctionCall(exp.Expression, exp.Condition):
    """A call ``f(a, b)`` of any function, built in or not; the name is not resolved yet.

    Functions with a syntax of their own are calls too: see `millrace.sql.dialect`.
    """

    arg_types: ClassVar[_Arguments] = {
        "this": True,  # Identifier: the last part of the name
        "qualifier": False,  # list[Identifier]: catalog and database before it
        "expressions": False,  # arguments; [Star] for COUNT(*)
        "distinct": False,  # True for f(DISTINCT a)
        "order": False,  # list[Ordered], of WITHIN GROUP (ORDER BY ...) or f(a ORDER BY ...)
        "null_treatment": False,  # "IGNORE" or "RESPECT"
        "filter": False,  # the condition of FILTER (WHERE ...)
        "over": False,  # WindowSpecification, or the Identifier of a named window
        "bare": False,  # True for a call without parentheses: CURRENT_DATE
        "definition": False,  # of a program's function that is called without a name
    }

    @property
    def path(self) -> tuple[str, ...]:
        """Name of the function as written, with its catalog and database if given."""
        return (*(part.name for part in self.args.get("qualifier") or ()), self.name)

    @property
    def arguments(self) -> list[exp.Expr]:
        """Arguments between the parentheses."""
        return list(self.expressions)


class Bound(exp.Expression, exp.Condition):
    """A query or expression of a program that is bound already. The parser never makes this
    node."""

    arg_types: ClassVar[_Arguments] = {"this": True}


class Plus(exp.Add):
    """The ``+`` of the Table API, which also concatenates texts."""


class FieldAt(exp.Expression, exp.Condition):
    """The field at a position of a row, from 0; it has no SQL syntax."""

    arg_types: ClassVar[_Arguments] = {"this": True, "position": True}


class TypeName(exp.Expression):
    """A type in ``CAST`` or ``RETURNING``: ``this`` is the LogicalType."""

    arg_types: ClassVar[_Arguments] = {"this": True}

    @property
    def logical_type(self) -> LogicalType:
        """The logical type that the name stands for."""
        logical_type: LogicalType = self.args["this"]
        return logical_type


class TypedLiteral(exp.Expression, exp.Condition):
    """A literal ``DATE '...'``, ``TIME '...'`` or ``TIMESTAMP '...'``; ``this`` is the text."""

    arg_types: ClassVar[_Arguments] = {
        "this": True,
        "kind": True,  # DATE, TIME, TIMESTAMP or TIMESTAMP WITH LOCAL TIME ZONE
    }


class IntervalLiteral(exp.Expression, exp.Condition):
    """A literal ``INTERVAL '1 10:00' DAY(3) TO MINUTE``; ``this`` is the text in quotes.

    Units are YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, never in the plural.
    """

    arg_types: ClassVar[_Arguments] = {
        "this": True,
        "unit": True,
        "to": False,  # the last unit
        "precision": False,  # int, of the first unit
        "fraction": False,  # int, digits after the point of SECOND
        "negative": False,  # True for INTERVAL -'1' DAY
    }


class TimeDifference(exp.Expression, exp.Condition):
    """``(b - a) DAY TO SECOND``: ``this`` is the subtraction; the other parts are as in
    `IntervalLiteral`.
    """

    arg_types: ClassVar[_Arguments] = {
        "this": True,
        "unit": True,
        "to": False,
        "precision": False,
        "fraction": False,
    }


class TimeUnit(exp.Expression):
    """A time unit as an argument: ``TIMESTAMPADD(DAY, ...)``, ``FLOOR(x TO DAY)``, ``EXTRACT``."""

    arg_types: ClassVar[_Arguments] = {"this": True}


class Unknown(exp.Expression, exp.Condition):
    """The ``UNKNOWN`` of ``x IS UNKNOWN`` and of three-valued logic."""

    arg_types: ClassVar[_Arguments] = {}


class DefaultValue(exp.Expression):
    """The word ``DEFAULT`` as an argument of a call: the function's default value."""

    arg_types: ClassVar[_Arguments] = {}


class RowConstructor(exp.Expression, exp.Condition):
    """``ROW(1, 'a')``, or ``(1, 'a')`` with ``implicit``."""

    arg_types: ClassVar[_Arguments] = {"expressions": False, "implicit": False}


class ArrayConstructor(exp.Expression, exp.Condition):
    """``ARRAY[1, 2]``."""

    arg_types: ClassVar[_Arguments] = {"expressions": False}


class MapConstructor(exp.Expression, exp.Condition):
    """``MAP['a', 1, 'b', 2]``: keys and values alternate."""

    arg_types: ClassVar[_Arguments] = {"expressions": False}


class SubqueryConstructor(exp.Expression, exp.Condition):
    """``ARRAY(SELECT ...)``, ``MULTISET(SELECT ...)``, ``MAP(SELECT ...)``."""

    arg_types: ClassVar[_Arguments] = {"this": True, "kind": True}


class Overlaps(exp.Expression, exp.Condition):
    """``(a, b) OVERLAPS (c, d)``."""

    arg_types: ClassVar[_Arguments] = {"this": True, "expression": True}


class PeriodPredicate(exp.Expression, exp.Condition):
    """``a PRECEDES b`` and similar: ``kind`` is CONTAINS, EQUALS, [IMMEDIATELY] PRECEDES, ..."""

    arg_types: ClassVar[_Arguments] = {"this": True, "expression": True, "kind": True}


class IsJson(exp.Expression, exp.Condition):
    """``x IS JSON``, with ``kind`` VALUE, OBJECT, ARRAY or SCALAR; negated by `exp.Not`."""

    arg_types: ClassVar[_Arguments] = {"this": True, "kind": True}


class JsonBehavior(exp.Expression):
    """A clause in a JSON function's call, after its arguments.

    ``JSON_VALUE``, ``JSON_QUERY``, ``JSON_EXISTS``: ``on`` is EMPTY or ERROR, and ``this`` NULL,
    ERROR, DEFAULT (with ``expression``), EMPTY ARRAY, EMPTY OBJECT, TRUE, FALSE or UNKNOWN.
    ``JSON_OBJECT``, ``JSON_ARRAY`` and their aggregates: ``on`` is NULL, ``this`` NULL or ABSENT.
    ``JSON_QUERY`` too: ``on`` is WRAPPER, ``this`` WITHOUT, CONDITIONAL or UNCONDITIONAL.
    ``RETURNING``: ``on`` is RETURNING, ``this`` the `TypeName`.
    """

    arg_types: ClassVar[_Arguments] = {"this": True, "expression": False, "on": True}


class JsonEntry(exp.Expression):
    """``KEY a VALUE b`` in ``JSON_OBJECT`` and ``JSON_OBJECTAGG``."""

    arg_types: ClassVar[_Arguments] = {"this": True, "expression": True}


class WindowSpecification(exp.Expression):
    """The contents of ``OVER (...)`` and ``WINDOW w AS (...)``."""

    arg_types: ClassVar[_Arguments] = {
        "this": False,  # Identifier of the named window that this one extends
        "partition_by": False,
        "order": False,  # list[Ordered]
        "frame": False,  # WindowFrame
    }


class WindowFrame(exp.Expression):
    """``ROWS BETWEEN start AND end``; without ``end`` the frame ends at the current row."""

    arg_types: ClassVar[_Arguments] = {"unit": True, "start": True, "end": False}


class FrameBound(exp.Expression):
    """A bound of a frame: ``kind`` is PRECEDING, FOLLOWING or CURRENT ROW; without ``this`` the
    bound is UNBOUNDED."""

    arg_types: ClassVar[_Arguments] = {"kind": True, "this": False}


class NamedWindow(exp.Expression):
    """``w AS (...)`` of a WINDOW clause: ``this`` is an Identifier, ``expression`` a
    WindowSpecification."""

    arg_types: ClassVar[_Arguments] = {"this": True, "expression": True}


class Hint(exp.Expression):
    """One hint: ``OPTIONS('a'='b')``, ``BROADCAST(t)``.

    ``this`` is its name in capitals, ``options`` a list of HintOption in the key-value form,
    ``expressions`` the Identifiers and Literals of the list form.
    """

    arg_types: ClassVar[_Arguments] = {"this": True, "options": False, "expressions": False}

    @property
    def options(self) -> dict[str, str]:
        """Options of a hint in the key-value form."""
        pairs = self.args.get("options") or ()
        return {str(pair.this.this): str(pair.expression.this) for pair in pairs}


class HintOption(exp.Expression):
    """``'key'='value'`` in a hint: ``this`` and ``expression`` are Literals."""

    arg_types: ClassVar[_Arguments] = {"this": True, "expression": True}


class JoinedTables(exp.Expression):
    """A join of two tables: ``this`` is the left one, ``expression`` the right one."""

    arg_types: ClassVar[_Arguments] = {
        "this": True,
        "expression": True,
        "kind": True,  # INNER, LEFT, RIGHT, FULL, CROSS or COMMA
        "natural": False,  # True for NATURAL
        "on": False,  # the condition
        "using": False,  # list[Identifier]
    }


class SystemTime(exp.Expression):
    """``FOR SYSTEM_TIME AS OF x``: the ``version`` of an `exp.Table`."""

    arg_types: ClassVar[_Arguments] = {"this": True}


class TableFunctionCall(exp.Expression):
    """A function in FROM: ``TUMBLE(TABLE t, ...)``, ``TABLE(f(x))``, ``LATERAL TABLE(f(x))``."""

    arg_types: ClassVar[_Arguments] = {
        "this": True,  # FunctionCall
        "wrapped": False,  # True with TABLE(...)
        "lateral": False,  # True with LATERAL
        "ordinality": False,
        "alias": False,
    }


class CollectionTable(exp.Expression):
    """``UNNEST(a, b) [WITH ORDINALITY]`` in FROM."""

    arg_types: ClassVar[_Arguments] = {"expressions": True, "ordinality": False, "alias": False}


class TableArgument(exp.Expression):
    """``TABLE t PARTITION BY a ORDER BY b`` as an argument; ``this`` is Table or Subquery."""

    arg_types: ClassVar[_Arguments] = {"this": True, "partition_by": False, "order": False}


class ModelArgument(exp.Expression):
    """``MODEL m`` as an argument; ``this`` is an `exp.Table`."""

    arg_types: ClassVar[_Arguments] = {"this": True}


class Descriptor(exp.Expression):
    """``DESCRIPTOR(a, b)``: column names, with types (`exp.ColumnDef`) if given."""

    arg_types: ClassVar[_Arguments] = {"expressions": True}


class MatchRecognize(exp.Expression):
    """``t MATCH_RECOGNIZE (...)``: a table in FROM."""

    arg_types: ClassVar[_Arguments] = {
        "this": True,  # the table
        "partition_by": False,
        "order": False,  # list[Ordered]
        "measures": False,  # list[Alias]
        "rows": False,  # "ONE" or "ALL"
        "after": False,  # AfterMatch
        "pattern": True,  # a Pattern... node
        "anchored_start": False,  # True for ^ at the beginning
        "anchored_end": False,  # True for $ at the end
        "within": False,  # an interval
        "subsets": False,  # list[PatternSubset]
        "define": True,  # list[Alias]: condition AS variable
        "alias": False,
    }


class AfterMatch(exp.Expression):
    """``AFTER MATCH SKIP``: ``kind`` is NEXT ROW, PAST LAST ROW, FIRST or LAST (of the variable
    ``this``)."""

    arg_types: ClassVar[_Arguments] = {"kind": True, "this": False}


class PatternVariable(exp.Expression):
    """A variable in PATTERN; ``this`` is its Identifier."""

    arg_types: ClassVar[_Arguments] = {"this": True}


class PatternConcatenation(exp.Expression):
    """``A B C``."""

    arg_types: ClassVar[_Arguments] = {"expressions": True}


class PatternAlternation(exp.Expression):
    """``A | B``."""

    arg_types: ClassVar[_Arguments] = {"expressions": True}


class PatternPermutation(exp.Expression):
    """``PERMUTE(A, B)``."""

    arg_types: ClassVar[_Arguments] = {"expressions": True}


class PatternExclusion(exp.Expression):
    """``{- A -}``: rows that are matched but not part of the result."""

    arg_types: ClassVar[_Arguments] = {"this": True}


class PatternQuantifier(exp.Expression):
    """``A{least,most}``, and ``*``, ``+`` and ``?``; unbounded without ``most``."""

    arg_types: ClassVar[_Arguments] = {
        "this": True,
        "least": True,  # int
        "most": False,  # int
        "reluctant": False,  # True with a ? after it
    }


class PatternSubset(exp.Expression):
    """``AB = (A, B)``: ``this`` is an Identifier, ``expressions`` are the Identifiers in
    brackets."""

    arg_types: ClassVar[_Arguments] = {"this": True, "expressions": True}


class MatchSemantics(exp.Expression, exp.Condition):
    """``FINAL x`` and ``RUNNING x`` in MEASURES and DEFINE; ``kind`` is the word."""

    arg_types: ClassVar[_Arguments] = {"this": True, "kind": True}


def names_of(node: exp.Expr) -> tuple[str, ...] | None:
    """Names of a column reference of any length; None for other expressions.

    >>> from millrace.sql.parser import parse_expression
    >>> names_of(parse_expression("a.b.c.d.e"))
    ('a', 'b', 'c', 'd', 'e')
    """
    if isinstance(node, exp.Column):
        return tuple("*" if isinstance(part, exp.Star) else part.name for part in node.parts)
    if isinstance(node, exp.Dot):
        before = names_of(node.this)
        after = "*" if isinstance(node.expression, exp.Star) else node.expression.name
        return None if before is None else (*before, after)
    return None
