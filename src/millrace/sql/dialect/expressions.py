"""Parser of expressions: operators by precedence, predicates, names, constructors.

Precedences are those of Calcite, on which Flink's parser is based: OR, AND, NOT, IS, comparisons,
BETWEEN/IN/LIKE, +/-, then ``*``, ``/``, ``%`` and ``||`` together, signs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from millrace.sql.dialect.nodes import (
    ArrayConstructor,
    FunctionCall,
    IsJson,
    MapConstructor,
    MatchSemantics,
    Overlaps,
    PeriodPredicate,
    RowConstructor,
    SubqueryConstructor,
    TimeDifference,
    Unknown,
)
from millrace.sql.dialect.reserved_words import BARE_FUNCTIONS, RESERVED_FUNCTIONS
from millrace.sql.dialect.special_calls import SpecialCallParser
from millrace.sql.dialect.token_stream import MAX_CHAIN
from millrace.sql.dialect.tokenizer import NAME, WORD

__all__ = ["ExpressionParser"]

_OR, _AND, _NOT, _IS, _COMPARISON, _RANGE, _SUM, _PRODUCT, _SIGN = range(1, 10)
_BINARY: dict[str, tuple[int, type[exp.Binary]]] = {
    "OR": (_OR, exp.Or),
    "AND": (_AND, exp.And),
    "=": (_COMPARISON, exp.EQ),
    "<>": (_COMPARISON, exp.NEQ),
    "<": (_COMPARISON, exp.LT),
    ">": (_COMPARISON, exp.GT),
    "<=": (_COMPARISON, exp.LTE),
    ">=": (_COMPARISON, exp.GTE),
    "+": (_SUM, exp.Add),
    "-": (_SUM, exp.Sub),
    "*": (_PRODUCT, exp.Mul),
    "/": (_PRODUCT, exp.Div),
    "%": (_PRODUCT, exp.Mod),
    "||": (_PRODUCT, exp.DPipe),
}
_PREDICATES = {
    "IS": _IS,
    **dict.fromkeys(("BETWEEN", "IN", "LIKE", "SIMILAR"), _RANGE),
    **dict.fromkeys(
        ("OVERLAPS", "CONTAINS", "EQUALS", "PRECEDES", "SUCCEEDS", "IMMEDIATELY"), _COMPARISON
    ),
}
_NEGATED = ("BETWEEN", "IN", "LIKE", "SIMILAR")
_NOT_FLINKS = {
    "!=": "Flink's sign for unequal is <>",
    "==": "Flink's sign for equal is =",
    "?": "parameters (?) cannot be used here: write the value",
    "::": "write CAST(value AS type)",
    "ILIKE": "ILIKE is for SHOW statements only: write LOWER(a) LIKE b",
    "RLIKE": "write REGEXP(a, b)",
    "AT": "Flink has no AT TIME ZONE: CONVERT_TZ(text, from, to) converts times written as text",
}
_OPERATORS = ("AND", "OR", "IS", "IN", "LIKE", "BETWEEN", "NOT")
MAX_FLAT = 32
"""Most conditions joined by AND or OR that are a chain; more become a balanced tree."""


class ExpressionParser(SpecialCallParser):
    """Reads expressions."""

    in_match = False
    """Whether FINAL and RUNNING may stand before a call."""

    def expression(self) -> exp.Expr:
        self.enter()
        found = self._binary(_OR)
        self.leave()
        return found

    def operand(self) -> exp.Expr:
        self.enter()
        found = self._binary(_SUM)
        self.leave()
        return found

    def _binary(self, least: int) -> exp.Expr:
        """Parse an expression whose operators have at least this precedence."""
        mark = self.index
        left = self._prefixed()
        for _ in range(MAX_CHAIN):
            binary = _BINARY.get(self.token.key)
            if binary is not None:
                precedence, kind = binary
                if precedence < least:
                    return left
                left = self._operation(mark, left, precedence, kind)
                continue
            extended = self._predicate(mark, left, least)
            if extended is None:
                self._asked.append(_OPERATORS)
                return left
            left = extended
        raise self.error(f"more than {MAX_CHAIN} operators follow each other: use brackets")

    def _operation(
        self, mark: int, left: exp.Expr, precedence: int, kind: type[exp.Binary]
    ) -> exp.Expr:
        if precedence <= _AND:
            return self._chain(mark, left, precedence, kind)
        self.advance()
        if precedence == _COMPARISON and self.at("ALL", "ANY", "SOME"):
            right = self._quantified()
        else:
            right = self._binary(precedence + 1)
        return self.placed(kind(this=left, expression=right), mark)

    def _chain(
        self, mark: int, left: exp.Expr, precedence: int, kind: type[exp.Binary]
    ) -> exp.Expr:
        """Parse the rest of ``a OR b OR c ...``; a long chain becomes a balanced tree, so that
        recursion can walk it."""
        parts, key = [(mark, left)], self.token.key
        while self.take(key):
            parts.append((self.index, self._binary(precedence + 1)))
        while len(parts) > MAX_FLAT:
            pairs = [parts[index : index + 2] for index in range(0, len(parts), 2)]
            parts = [
                pair[0] if len(pair) == 1 else (pair[0][0], self._joined(kind, *pair))
                for pair in pairs
            ]
        joined = parts[0]
        for part in parts[1:]:
            joined = (joined[0], self._joined(kind, joined, part))
        return self.placed(joined[1], mark)

    def _joined(
        self, kind: type[exp.Binary], left: tuple[int, exp.Expr], right: tuple[int, exp.Expr]
    ) -> exp.Expr:
        node = self.placed(kind(this=left[1], expression=right[1]), left[0])
        node.meta["end"] = right[1].meta["end"]
        return node

    def _quantified(self) -> exp.Expr:
        mark = self.index
        kind = exp.All if self.need_one("ALL", "ANY", "SOME") == "ALL" else exp.Any
        if not self.at_query():
            raise self.error("after ALL, ANY and SOME stands a query in brackets")
        return self.placed(kind(this=self.bracketed_query()), mark)

    def _prefixed(self) -> exp.Expr:
        mark = self.index
        if self.token.key == "NOT":
            self.advance()
            self.enter()
            node: exp.Expr = exp.Not(this=self._binary(_NOT + 1))
            self.leave()
            return self.placed(node, mark)
        if self.token.key in ("-", "+"):
            sign = self.advance().key
            self.enter()
            operand = self._binary(_SIGN)
            self.leave()
            return operand if sign == "+" else self.placed(exp.Neg(this=operand), mark)
        return self._suffixed(mark, self._primary())

    def _predicate(self, mark: int, left: exp.Expr, least: int) -> exp.Expr | None:
        """Parse ``left IS ...`` or ``left NOT IN ...``; None if no predicate of sufficient
        precedence follows."""
        key = self.token.key
        if key in _NOT_FLINKS:
            raise self.error(_NOT_FLINKS[key])
        negated = key == "NOT" and self.peek().key in (*_NEGATED, "ILIKE", "RLIKE")
        if negated:
            key = self.peek().key
        precedence = _PREDICATES.get(key)
        if precedence is None or precedence < least:
            return None
        if negated:
            self.advance()
        self.advance()
        read = _READERS.get(key)
        found = self._period(key, left) if read is None else read(self, left)
        self.placed(found, mark)
        return self.placed(exp.Not(this=found), mark) if negated else found

    def _is(self, left: exp.Expr) -> exp.Expr:
        negated = self.take("NOT")
        if self.take("DISTINCT", "FROM"):
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return kind(this=left, expression=self._binary(_COMPARISON + 1))
        found: exp.Expr
        if self.take("JSON"):
            word = self.take_one("VALUE", "OBJECT", "ARRAY", "SCALAR")
            found = IsJson(this=left, kind=word or "VALUE")
        else:
            of = self.index
            word = self.need_one("NULL", "TRUE", "FALSE", "UNKNOWN")
            what = {"NULL": exp.Null(), "UNKNOWN": Unknown()}.get(word)
            value = exp.Boolean(this=word == "TRUE") if what is None else what
            found = exp.Is(this=left, expression=self.placed(value, of))
        self._joined_place(found, left)
        return exp.Not(this=found) if negated else found

    def _between(self, left: exp.Expr) -> exp.Expr:
        args: dict[str, Any] = {"this": left}
        if self.take_one("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC":
            args["symmetric"] = True
        args["low"] = self._binary(_RANGE + 1)
        self.need("AND")
        args["high"] = self._binary(_RANGE + 1)
        return exp.Between(**args)

    def _in(self, left: exp.Expr) -> exp.Expr:
        if not self.at("("):
            raise self.unexpected()
        if self.at_query():
            return exp.In(this=left, query=self.bracketed_query())
        return exp.In(this=left, expressions=self.bracketed(self.expression))

    def _like(self, left: exp.Expr) -> exp.Expr:
        return self._pattern(exp.Like, left)

    def _similar(self, left: exp.Expr) -> exp.Expr:
        self.need("TO")
        return self._pattern(exp.SimilarTo, left)

    def _pattern(self, kind: type[exp.Binary], left: exp.Expr) -> exp.Expr:
        found: exp.Expr = kind(this=left, expression=self._binary(_RANGE + 1))
        if self.at("ESCAPE"):
            self._joined_place(found, left)
            self.need("ESCAPE")
            found = exp.Escape(this=found, expression=self._binary(_SUM))
        return found

    def _joined_place(self, node: exp.Expr, first: exp.Expr) -> None:
        """Set the node's position: from the beginning of its first part up to the last token
        read."""
        end = self._tokens[self.index - 1].position.end
        node.meta.update(first.meta | {"end": end})

    def _period(self, key: str, left: exp.Expr) -> exp.Expr:
        if key == "IMMEDIATELY":
            key = f"{key} {self.need_one('PRECEDES', 'SUCCEEDS')}"
        right = self._binary(_COMPARISON + 1)
        if key == "OVERLAPS":
            return Overlaps(this=left, expression=right)
        return PeriodPredicate(this=left, expression=right, kind=key)

    def _suffixed(self, mark: int, found: exp.Expr) -> exp.Expr:
        """Parse ``[1]`` and ``.field`` after an expression."""
        for _ in range(MAX_CHAIN):
            if self.take("["):
                index = self.expression()
                self.need("]")
                found = self.placed(exp.Bracket(this=found, expressions=[index]), mark)
            elif self.at("."):
                found = self._field(mark, found)
            else:
                return found
        raise self.error(f"more than {MAX_CHAIN} accesses follow each other")

    def _field(self, mark: int, found: exp.Expr) -> exp.Expr:
        if isinstance(found, exp.Literal | exp.Null | exp.Boolean):
            raise self.unexpected()
        self.need(".")
        star = self.index
        if self.take("*"):
            return self.placed(exp.Dot(this=found, expression=self.placed(exp.Star(), star)), mark)
        name = self.identifier("the name of a field")
        return self.placed(exp.Dot(this=found, expression=name), mark)

    def _primary(self) -> exp.Expr:
        found = self.literal()
        if found is None:
            read = _PRIMARIES.get(self.token.key)
            found = None if read is None else read(self)
        if found is None:
            found = self.special_call()
        return self._named() if found is None else found

    def _brackets(self) -> exp.Expr:
        mark = self.index
        if self.at_query():
            return self.placed(exp.Subquery(this=self.bracketed_query()), mark)
        found = self.bracketed(self.expression)
        if len(found) == 1:
            units = self.interval_qualifier() if isinstance(found[0], exp.Sub) else {}
            if units:
                return self.placed(TimeDifference(this=found[0], **units), mark)
            return self.placed(exp.Paren(this=found[0]), mark)
        return self.placed(RowConstructor(expressions=found, implicit=True), mark)

    def _case(self) -> exp.Expr:
        mark = self.index
        self.need("CASE")
        args: dict[str, Any] = {"ifs": []}
        if not self.at("WHEN"):
            args["this"] = self.expression()
        while not args["ifs"] or self.at("WHEN"):
            args["ifs"] += self._when("this" in args)
        if self.take("ELSE"):
            args["default"] = self.expression()
        self.need("END")
        return self.placed(exp.Case(**args), mark)

    def _when(self, of_values: bool) -> list[exp.Expr]:
        """Parse a WHEN branch; ``WHEN 1, 2 THEN`` has one branch per value."""
        mark = self.index
        self.need("WHEN")
        conditions = [self.expression()]
        while of_values and self.take(","):
            conditions.append(self.expression())
        self.need("THEN")
        value = self.expression()
        last = self.placed(exp.If(this=conditions.pop(), true=value), mark)
        others = [exp.If(this=each, true=value.copy()) for each in conditions]
        return [*(self.placed(each, mark) for each in others), last]

    def _exists(self) -> exp.Expr:
        mark = self.index
        self.need("EXISTS")
        return self.placed(exp.Exists(this=self.bracketed_query()), mark)

    def _constructor(self) -> exp.Expr | None:
        """Parse ROW, ARRAY, MAP and MULTISET; ``map`` may also be a name."""
        mark, word, opening = self.index, self.token.key, self.peek().key
        if opening not in ("(", "["):
            return None
        self.advance()
        if opening == "(" and word != "ROW":
            query = self.bracketed_query()
            return self.placed(SubqueryConstructor(this=query, kind=word), mark)
        if word == "MULTISET" or (word == "ROW") != (opening == "("):
            raise self.unexpected()
        closing = {"(": ")", "[": "]"}[opening]
        self.advance()
        items = [] if self.at(closing) else self.listed(self.expression)
        self.need(closing)
        if word == "MAP" and len(items) % 2:
            raise self.error("MAP[...] lists keys and values in turn: one is missing", mark)
        kinds = {"ROW": RowConstructor, "ARRAY": ArrayConstructor, "MAP": MapConstructor}
        return self.placed(kinds[word](expressions=items), mark)

    def _named(self) -> exp.Expr:
        """Parse a name, a path of names, or a call."""
        mark, key = self.index, self.token.key
        if self.token.kind == WORD and key in RESERVED_FUNCTIONS:
            if self.peek().key == "(":
                self.advance()
                return self.call(mark, [self._word(mark)])
            if key in BARE_FUNCTIONS:
                self.advance()
                return self.placed(FunctionCall(this=self._word(mark), bare=True), mark)
        if self.in_match and key in ("FINAL", "RUNNING") and self.peek().kind in (WORD, NAME):
            self.advance()
            return self.placed(MatchSemantics(this=self._binary(_SIGN), kind=key), mark)
        path = [self.identifier("an expression")]
        while self.at(".") and self.peek().key != "*":
            self.advance()
            path.append(self.identifier("a name after the point"))
        if self.at("("):
            return self.call(mark, path)
        return self._column(mark, path)

    def _word(self, mark: int) -> exp.Identifier:
        """The word at the mark as a name."""
        token = self._tokens[mark]
        return self.placed(exp.Identifier(this=token.value, quoted=False), mark)

    def _column(self, mark: int, path: list[exp.Identifier]) -> exp.Expr:
        parts: list[exp.Expr] = list(path)
        if self.at(".") and self.peek().key == "*":
            self.advance()
            star = self.index
            self.advance()
            parts.append(self.placed(exp.Star(), star))
        first, rest = parts[:4], parts[4:]
        names = dict(zip(("this", "table", "db", "catalog"), reversed(first), strict=False))
        found: exp.Expr = self.placed(exp.Column(**names), mark)
        for part in rest:
            found = self.placed(exp.Dot(this=found, expression=part), mark)
        return found


_READERS: dict[str, Callable[[ExpressionParser, exp.Expr], exp.Expr]] = {
    "IS": ExpressionParser._is,
    "BETWEEN": ExpressionParser._between,
    "IN": ExpressionParser._in,
    "LIKE": ExpressionParser._like,
    "SIMILAR": ExpressionParser._similar,
}
_PRIMARIES: dict[str, Callable[[ExpressionParser], exp.Expr | None]] = {
    "(": ExpressionParser._brackets,
    "CASE": ExpressionParser._case,
    "EXISTS": ExpressionParser._exists,
    "ROW": ExpressionParser._constructor,
    "ARRAY": ExpressionParser._constructor,
    "MAP": ExpressionParser._constructor,
    "MULTISET": ExpressionParser._constructor,
}
