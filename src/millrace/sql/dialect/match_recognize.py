"""Parser of ``MATCH_RECOGNIZE (...)``: clauses and patterns (Flink docs, "Pattern Recognition")."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.expressions import ExpressionParser
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

__all__ = ["MatchParser"]

_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class MatchParser(ExpressionParser):
    """Reads ``MATCH_RECOGNIZE (...)`` after a table."""

    def match_recognize(self, mark: int, table: exp.Expr) -> exp.Expr:
        """Parse the clause after a table that began at the mark."""
        self.need("MATCH_RECOGNIZE", "(")
        outer, self.in_match = self.in_match, True
        args: dict[str, Any] = {"this": table}
        if self.take("PARTITION", "BY"):
            args["partition_by"] = self.listed(self.expression)
        if self.at("ORDER"):
            args["order"] = self.order_items()
        if self.take("MEASURES"):
            args["measures"] = self.listed(self._measure)
        self._rows(args)
        if self.take("AFTER", "MATCH"):
            args["after"] = self._after()
        self._whole_pattern(args)
        if self.take("WITHIN"):
            args["within"] = self.interval()
        if self.take("SUBSET"):
            args["subsets"] = self.listed(self._subset)
        self.need("DEFINE")
        args["define"] = self.listed(self._definition)
        self.need(")")
        self.in_match = outer
        return self.placed(MatchRecognize(**args), mark)

    def _rows(self, args: dict[str, Any]) -> None:
        if self.take("ONE"):
            self.need("ROW", "PER", "MATCH")
            args["rows"] = "ONE"
        elif self.take("ALL"):
            self.need("ROWS", "PER", "MATCH")
            args["rows"] = "ALL"

    def _measure(self) -> exp.Expr:
        mark = self.index
        value = self.expression()
        self.need("AS")
        return self.placed(exp.Alias(this=value, alias=self.identifier()), mark)

    def _definition(self) -> exp.Expr:
        mark = self.index
        variable = self.identifier("a variable of the pattern")
        self.need("AS")
        return self.placed(exp.Alias(this=self.expression(), alias=variable), mark)

    def _after(self) -> exp.Expr:
        mark = self.index
        self.need("SKIP")
        if self.take("PAST"):
            self.need("LAST", "ROW")
            return self.placed(AfterMatch(kind="PAST LAST ROW"), mark)
        self.need("TO")
        if self.take("NEXT", "ROW"):
            return self.placed(AfterMatch(kind="NEXT ROW"), mark)
        kind = "LAST"
        if self.at("FIRST", "LAST") and self.peek().key not in ("PATTERN", ""):
            kind = self.advance().key
        variable = self.identifier("a variable of the pattern")
        return self.placed(AfterMatch(kind=kind, this=variable), mark)

    def _whole_pattern(self, args: dict[str, Any]) -> None:
        self.need("PATTERN", "(")
        if self.take("^"):
            args["anchored_start"] = True
        args["pattern"] = self._alternation()
        if self.take("$"):
            args["anchored_end"] = True
        self.need(")")

    def _alternation(self) -> exp.Expr:
        mark = self.index
        self.enter()
        found = [self._concatenation()]
        while self.take("|"):
            found.append(self._concatenation())
        self.leave()
        if len(found) == 1:
            return found[0]
        return self.placed(PatternAlternation(expressions=found), mark)

    def _concatenation(self) -> exp.Expr:
        mark = self.index
        found = [self._quantified_part()]
        while self.at_name() or self.at("(", "{-", "PERMUTE"):
            found.append(self._quantified_part())
        if len(found) == 1:
            return found[0]
        return self.placed(PatternConcatenation(expressions=found), mark)

    def _quantified_part(self) -> exp.Expr:
        mark = self.index
        part = self._part()
        bounds = self._bounds()
        if bounds is None:
            return part
        args: dict[str, Any] = {"this": part, "least": bounds[0]}
        if bounds[1] is not None:
            args["most"] = bounds[1]
            if bounds[1] < bounds[0] or bounds[1] == 0:
                raise self.error("a part of a pattern occurs at most no time", mark)
        if self.take("?"):
            args["reluctant"] = True
        return self.placed(PatternQuantifier(**args), mark)

    def _bounds(self) -> tuple[int, int | None] | None:
        sign = self.take_one(*_QUANTIFIERS, "{")
        if sign is None:
            return None
        if sign != "{":
            return _QUANTIFIERS[sign]
        least = 0 if self.at(",") else self.number()
        most: int | None = least
        if self.take(","):
            most = self.number() if self.token.kind == NUMBER else None
        self.need("}")
        return least, most

    def _part(self) -> exp.Expr:
        mark = self.index
        if self.take("("):
            found = self._alternation()
            self.need(")")
            return found
        if self.take("{-"):
            found = self._alternation()
            self.need("-}")
            return self.placed(PatternExclusion(this=found), mark)
        if self.take("PERMUTE"):
            parts = self.bracketed(self._alternation)
            return self.placed(PatternPermutation(expressions=parts), mark)
        name = self.identifier("a variable of the pattern")
        return self.placed(PatternVariable(this=name), mark)

    def _subset(self) -> exp.Expr:
        mark = self.index
        name = self.identifier("the name of a subset")
        self.need("=")
        variables = self.bracketed(self.identifier)
        return self.placed(PatternSubset(this=name, expressions=variables), mark)
