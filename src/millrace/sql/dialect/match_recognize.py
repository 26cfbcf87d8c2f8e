"""Parser of ``MATCH_RECOGNIZE (...)``: clauses and patterns (Flink docs, "Pattern Recognition")."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.expressions import ExpressionParser
from millrace.sql.dialect.literals import parse_interval
from millrace.sql.dialect.nodes import (
    AfterMatch,
    MatchRecognize,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternPermutation,
    PatternQuantifier,
    PatternSubset,
    PatternVariable,
)
from millrace.sql.dialect.tokenizer import NUMBER

__all__ = ["parse_match_recognize"]

_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_match_recognize(parser: ExpressionParser, mark: int, table: exp.Expr) -> exp.Expr:
    """Parse the clause ``MATCH_RECOGNIZE (...)``. Its table began at ``mark`` and has been read."""
    parser.need("MATCH_RECOGNIZE", "(")
    outer, parser.in_match = parser.in_match, True
    args: dict[str, Any] = {"this": table}
    if parser.take("PARTITION", "BY"):
        args["partition_by"] = parser.listed(parser.expression)
    if parser.at("ORDER"):
        args["order"] = parser.order_items()
    if parser.take("MEASURES"):
        args["measures"] = parser.listed(lambda: _measure(parser))
    _rows(parser, args)
    if parser.take("AFTER", "MATCH"):
        args["after"] = _after(parser)
    _whole_pattern(parser, args)
    if parser.take("WITHIN"):
        args["within"] = parse_interval(parser)
    if parser.take("SUBSET"):
        args["subsets"] = parser.listed(lambda: _subset(parser))
    parser.need("DEFINE")
    args["define"] = parser.listed(lambda: _definition(parser))
    parser.need(")")
    parser.in_match = outer
    return parser.placed(MatchRecognize(**args), mark)


def _rows(parser: ExpressionParser, args: dict[str, Any]) -> None:
    if parser.take("ONE"):
        parser.need("ROW", "PER", "MATCH")
        args["rows"] = "ONE"
    elif parser.take("ALL"):
        parser.need("ROWS", "PER", "MATCH")
        args["rows"] = "ALL"


def _measure(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    value = parser.expression()
    parser.need("AS")
    return parser.placed(exp.Alias(this=value, alias=parser.identifier()), mark)


def _definition(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    variable = parser.identifier("a variable of the pattern")
    parser.need("AS")
    return parser.placed(exp.Alias(this=parser.expression(), alias=variable), mark)


def _after(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    parser.need("SKIP")
    if parser.take("PAST"):
        parser.need("LAST", "ROW")
        return parser.placed(AfterMatch(kind="PAST LAST ROW"), mark)
    parser.need("TO")
    if parser.take("NEXT", "ROW"):
        return parser.placed(AfterMatch(kind="NEXT ROW"), mark)
    kind = "LAST"
    if parser.at("FIRST", "LAST") and parser.peek().key not in ("PATTERN", ""):
        kind = parser.advance().key
    variable = parser.identifier("a variable of the pattern")
    return parser.placed(AfterMatch(kind=kind, this=variable), mark)


def _whole_pattern(parser: ExpressionParser, args: dict[str, Any]) -> None:
    parser.need("PATTERN", "(")
    if parser.take("^"):
        args["anchored_start"] = True
    args["pattern"] = _alternation(parser)
    if parser.take("$"):
        args["anchored_end"] = True
    parser.need(")")


def _alternation(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    parser.enter()
    branches = [_concatenation(parser)]
    while parser.take("|"):
        branches.append(_concatenation(parser))
    parser.leave()
    if len(branches) == 1:
        return branches[0]
    return parser.placed(PatternAlternation(expressions=branches), mark)


def _concatenation(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    parts = [_quantified_part(parser)]
    while parser.at_name() or parser.at("(", "{-", "PERMUTE"):
        parts.append(_quantified_part(parser))
    if len(parts) == 1:
        return parts[0]
    return parser.placed(PatternConcatenation(expressions=parts), mark)


def _quantified_part(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    part = _part(parser)
    bounds = _bounds(parser)
    if bounds is None:
        return part
    args: dict[str, Any] = {"this": part, "least": bounds[0]}
    if bounds[1] is not None:
        args["most"] = bounds[1]
        if bounds[1] < bounds[0] or bounds[1] == 0:
            raise parser.error(
                "the most occurrences of a part of a pattern must be at least 1, "
                "and not below the least",
                mark,
            )
    if parser.take("?"):
        args["reluctant"] = True
    return parser.placed(PatternQuantifier(**args), mark)


def _bounds(parser: ExpressionParser) -> tuple[int, int | None] | None:
    sign = parser.take_one(*_QUANTIFIERS, "{")
    if sign is None:
        return None
    if sign != "{":
        return _QUANTIFIERS[sign]
    least = 0 if parser.at(",") else parser.number()
    most: int | None = least
    if parser.take(","):
        most = parser.number() if parser.token.kind == NUMBER else None
    parser.need("}")
    return least, most


def _part(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    if parser.take("("):
        pattern = _alternation(parser)
        parser.need(")")
        return pattern
    if parser.take("{-"):
        pattern = _alternation(parser)
        parser.need("-}")
        return parser.placed(PatternExclusion(this=pattern), mark)
    if parser.take("PERMUTE"):
        parts = parser.bracketed(lambda: _alternation(parser))
        return parser.placed(PatternPermutation(expressions=parts), mark)
    name = parser.identifier("a variable of the pattern")
    return parser.placed(PatternVariable(this=name), mark)


def _subset(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    name = parser.identifier("the name of a subset")
    parser.need("=")
    variables = parser.bracketed(parser.identifier)
    return parser.placed(PatternSubset(this=name, expressions=variables), mark)
