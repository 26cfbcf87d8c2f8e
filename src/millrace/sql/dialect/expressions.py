"""Parser of expressions: operators by precedence, predicates, names, constructors, and calls with
their arguments and clauses.

Precedences are those of Calcite, on which Flink's parser is based: OR, AND, NOT, IS, comparisons,
BETWEEN/IN/LIKE, +/-, then ``*``, ``/``, ``%`` and ``||`` together, signs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from millrace.sql.dialect.literals import (
    parse_interval_qualifier,
    parse_literal,
    parse_time_unit,
)
from millrace.sql.dialect.nodes import (
    ArrayConstructor,
    DefaultValue,
    Descriptor,
    FrameBound,
    FunctionCall,
    IsJson,
    JsonBehavior,
    JsonEntry,
    MapConstructor,
    MatchSemantics,
    ModelArgument,
    Overlaps,
    PeriodPredicate,
    RowConstructor,
    SubqueryConstructor,
    TableArgument,
    TimeDifference,
    Unknown,
    WindowFrame,
    WindowSpecification,
)
from millrace.sql.dialect.reserved_words import BARE_FUNCTIONS, RESERVED_FUNCTIONS
from millrace.sql.dialect.token_stream import MAX_CHAIN, TokenStream
from millrace.sql.dialect.tokenizer import NAME, WORD
from millrace.sql.dialect.types import parse_type_name

__all__ = ["ExpressionParser"]

_Arguments = list[exp.Expr]

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


class ExpressionParser(TokenStream):
    """Reads expressions, calls included. The parser of queries extends it, since an expression may
    contain a query."""

    in_match = False
    """Whether FINAL and RUNNING may stand before a call."""

    @abstractmethod
    def query(self) -> exp.Expr:
        """Parse a query."""

    def expression(self) -> exp.Expr:
        self.enter()
        node = self._binary(_OR)
        self.leave()
        return node

    def operand(self) -> exp.Expr:
        self.enter()
        node = self._binary(_SUM)
        self.leave()
        return node

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
            raise self.error("ALL, ANY and SOME need a query in brackets after them")
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
        read = _PREDICATE_READERS.get(key)
        node = self._period(key, left) if read is None else read(self, left)
        self.placed(node, mark)
        return self.placed(exp.Not(this=node), mark) if negated else node

    def _is(self, left: exp.Expr) -> exp.Expr:
        negated = self.take("NOT")
        if self.take("DISTINCT", "FROM"):
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return kind(this=left, expression=self._binary(_COMPARISON + 1))
        node: exp.Expr
        if self.take("JSON"):
            word = self.take_one("VALUE", "OBJECT", "ARRAY", "SCALAR")
            node = IsJson(this=left, kind=word or "VALUE")
        else:
            of = self.index
            word = self.need_one("NULL", "TRUE", "FALSE", "UNKNOWN")
            what = {"NULL": exp.Null(), "UNKNOWN": Unknown()}.get(word)
            value = exp.Boolean(this=word == "TRUE") if what is None else what
            node = exp.Is(this=left, expression=self.placed(value, of))
        self._joined_place(node, left)
        return exp.Not(this=node) if negated else node

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
        node: exp.Expr = kind(this=left, expression=self._binary(_RANGE + 1))
        if self.at("ESCAPE"):
            self._joined_place(node, left)
            self.need("ESCAPE")
            node = exp.Escape(this=node, expression=self._binary(_SUM))
        return node

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

    def _suffixed(self, mark: int, node: exp.Expr) -> exp.Expr:
        """Parse ``[1]`` and ``.field`` after an expression."""
        for _ in range(MAX_CHAIN):
            if self.take("["):
                index = self.expression()
                self.need("]")
                node = self.placed(exp.Bracket(this=node, expressions=[index]), mark)
            elif self.at("."):
                node = self._field(mark, node)
            else:
                return node
        raise self.error(f"more than {MAX_CHAIN} accesses follow each other")

    def _field(self, mark: int, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
            raise self.unexpected()
        self.need(".")
        star = self.index
        if self.take("*"):
            return self.placed(exp.Dot(this=node, expression=self.placed(exp.Star(), star)), mark)
        name = self.identifier("the name of a field")
        return self.placed(exp.Dot(this=node, expression=name), mark)

    def _primary(self) -> exp.Expr:
        node = parse_literal(self)
        if node is None:
            read = _PRIMARIES.get(self.token.key)
            node = None if read is None else read(self)
        if node is None:
            node = self.special_call()
        return self._named() if node is None else node

    def _brackets(self) -> exp.Expr:
        mark = self.index
        if self.at_query():
            return self.placed(exp.Subquery(this=self.bracketed_query()), mark)
        values = self.bracketed(self.expression)
        if len(values) == 1:
            units = parse_interval_qualifier(self) if isinstance(values[0], exp.Sub) else {}
            if units:
                return self.placed(TimeDifference(this=values[0], **units), mark)
            return self.placed(exp.Paren(this=values[0]), mark)
        return self.placed(RowConstructor(expressions=values, implicit=True), mark)

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
        others = [exp.If(this=condition, true=value.copy()) for condition in conditions]
        return [*(self.placed(branch, mark) for branch in others), last]

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
            raise self.error(
                "MAP[...] takes pairs of a key and a value: the last value is missing", mark
            )
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
        return self.column(mark, path)

    def _word(self, mark: int) -> exp.Identifier:
        """The word at the mark as a name."""
        token = self._tokens[mark]
        return self.placed(exp.Identifier(this=token.value, quoted=False), mark)

    def column(self, mark: int, path: list[exp.Identifier]) -> exp.Expr:
        parts: list[exp.Expr] = list(path)
        if self.at(".") and self.peek().key == "*":
            self.advance()
            star = self.index
            self.advance()
            parts.append(self.placed(exp.Star(), star))
        first, rest = parts[:4], parts[4:]
        names = dict(zip(("this", "table", "db", "catalog"), reversed(first), strict=False))
        node: exp.Expr = self.placed(exp.Column(**names), mark)
        for part in rest:
            node = self.placed(exp.Dot(this=node, expression=part), mark)
        return node

    def bracketed_query(self) -> exp.Expr:
        """Parse a query in parentheses; the parentheses get no node."""
        self.need("(")
        query = self.query()
        self.need(")")
        return query

    def table_name(self) -> exp.Table:
        """Parse a table name of up to three parts."""
        mark = self.index
        parts = [self.identifier("the name of a table")]
        while self.take("."):
            parts.append(self.identifier("a name after the point"))
        if len(parts) > 3:
            raise self.error("a name has at most three parts: catalog, database and object", mark)
        args = dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))
        return self.placed(exp.Table(**args), mark)

    def call(self, mark: int, path: list[exp.Identifier]) -> FunctionCall:
        """Parse a call from its opening parenthesis on; its name has been read."""
        *qualifier, last = path
        args: dict[str, Any] = {"this": last}
        if qualifier:
            if len(path) > 3:
                raise self.error("the name of a function has at most three parts", mark)
            args["qualifier"] = qualifier
        self.need("(")
        if self.at("*"):
            star = self.index
            self.advance()
            args["expressions"] = [self.placed(exp.Star(), star)]
        elif not self.at(")"):
            if self.take_one("DISTINCT", "ALL") == "DISTINCT":
                args["distinct"] = True
            args["expressions"] = self.listed(self._argument)
            self._null_treatment(args)
            if self.at("ORDER"):
                args["order"] = self.order_items()
        self.need(")")
        return self.with_clauses(mark, args)

    def _null_treatment(self, args: dict[str, Any]) -> None:
        """Parse an optional ``IGNORE NULLS`` or ``RESPECT NULLS``, in the brackets of a call or
        behind them."""
        if self.at("IGNORE", "RESPECT") and self.peek().key == "NULLS":
            args["null_treatment"] = self.advance().key
            self.need("NULLS")

    def with_clauses(self, mark: int, args: dict[str, Any]) -> FunctionCall:
        """Parse the clauses after a call's closing parenthesis; its arguments have been read."""
        self._null_treatment(args)
        if self.take("WITHIN", "GROUP"):
            self.need("(")
            args["order"] = self.order_items()
            self.need(")")
        if self.at("FILTER") and self.peek().key == "(":
            self.need("FILTER", "(", "WHERE")
            args["filter"] = self.expression()
            self.need(")")
        if self.take("OVER"):
            args["over"] = self.window() if self.at("(") else self.identifier("a window")
        return self.placed(FunctionCall(**args), mark)

    def _argument(self) -> exp.Expr:
        mark, following = self.index, self.peek()
        if following.key == "=>" and self.token.kind in (WORD, NAME):
            # names of arguments may be reserved words: TIMECOL, SIZE, but OFFSET in backticks
            name = self.identifier("the name of an argument")
            self.need("=>")
            return self.placed(exp.Kwarg(this=name, expression=self._argument()), mark)
        if self.at("TABLE"):
            return self._table_argument()
        if self.at("DEFAULT"):
            self.advance()
            return self.placed(DefaultValue(), mark)
        if self.at("MODEL") and following.kind in (WORD, NAME):
            self.advance()
            return self.placed(ModelArgument(this=self.table_name()), mark)
        if self.at("DESCRIPTOR") and following.key == "(":
            self.advance()
            return self.placed(Descriptor(expressions=self.bracketed(self._described)), mark)
        return self.expression()

    def _described(self) -> exp.Expr:
        mark, name = self.index, self.identifier("the name of a column")
        if self.at(",", ")"):
            return name
        return self.placed(exp.ColumnDef(this=name, kind=parse_type_name(self)), mark)

    def _table_argument(self) -> exp.Expr:
        mark = self.index
        self.need("TABLE")
        args: dict[str, Any] = {"this": self._argument_table()}
        if self.take("PARTITION", "BY"):
            in_brackets = self.at("(")
            args["partition_by"] = (
                self.bracketed(self.expression) if in_brackets else [self.expression()]
            )
        if self.take("ORDER", "BY"):
            in_brackets = self.at("(")
            args["order"] = self.bracketed(self.order_item) if in_brackets else [self.order_item()]
        return self.placed(TableArgument(**args), mark)

    def _argument_table(self) -> exp.Expr:
        mark = self.index
        if not self.at("("):
            return self.table_name()
        return self.placed(exp.Subquery(this=self.bracketed_query()), mark)

    def order_items(self) -> list[exp.Expr]:
        """Parse ``ORDER BY a, b DESC``."""
        self.need("ORDER", "BY")
        return self.listed(self.order_item)

    def order_item(self) -> exp.Expr:
        """Parse ``a DESC NULLS LAST``."""
        mark = self.index
        args: dict[str, Any] = {"this": self.expression(), "nulls_first": None}
        if self.take_one("ASC", "DESC") == "DESC":
            args["desc"] = True
        if self.take("NULLS"):
            args["nulls_first"] = self.need_one("FIRST", "LAST") == "FIRST"
        return self.placed(exp.Ordered(**args), mark)

    def window(self) -> WindowSpecification:
        """Parse ``(w PARTITION BY a ORDER BY b ROWS ...)``."""
        mark = self.index
        args: dict[str, Any] = {}
        self.need("(")
        if self.at_name():
            args["this"] = self.identifier()
        if self.take("PARTITION", "BY"):
            args["partition_by"] = self.listed(self.expression)
        if self.at("ORDER"):
            args["order"] = self.order_items()
        if self.at("ROWS", "RANGE"):
            args["frame"] = self._frame()
        self.need(")")
        return self.placed(WindowSpecification(**args), mark)

    def _frame(self) -> WindowFrame:
        mark = self.index
        args: dict[str, Any] = {"unit": self.need_one("ROWS", "RANGE")}
        if self.take("BETWEEN"):
            args["start"] = self._frame_bound()
            self.need("AND")
            args["end"] = self._frame_bound()
        else:
            args["start"] = self._frame_bound()
        return self.placed(WindowFrame(**args), mark)

    def _frame_bound(self) -> FrameBound:
        mark = self.index
        if self.take("CURRENT", "ROW"):
            return self.placed(FrameBound(kind="CURRENT ROW"), mark)
        args: dict[str, Any] = {}
        if not self.take("UNBOUNDED"):
            args["this"] = self.operand()
        args["kind"] = self.need_one("PRECEDING", "FOLLOWING")
        return self.placed(FrameBound(**args), mark)

    def special_call(self) -> exp.Expr | None:
        """Parse a call of a function with a syntax of its own; None if another call is next."""
        if self.peek().key != "(":
            return None
        mark = self.index
        if self.token.key in ("CAST", "TRY_CAST"):
            return self._cast(mark)
        read = _CALL_READERS.get(self.token.key)
        if read is None:
            return None
        name = self._function_name()
        self.need("(")
        arguments = read(self)
        self.need(")")
        args: dict[str, Any] = {"this": name, "expressions": arguments}
        return self.with_clauses(mark, args)

    def _function_name(self) -> exp.Identifier:
        mark = self.index
        return self.placed(exp.Identifier(this=self.advance().value, quoted=False), mark)

    def _cast(self, mark: int) -> exp.Expr:
        kind = exp.Cast if self.need_one("CAST", "TRY_CAST") == "CAST" else exp.TryCast
        self.need("(")
        value = self.expression()
        self.need("AS")
        node = kind(this=value, to=parse_type_name(self))
        self.need(")")
        return self.placed(node, mark)

    def _extract(self) -> _Arguments:
        unit = parse_time_unit(self)
        self.need("FROM")
        return [unit, self.expression()]

    def _rounded(self) -> _Arguments:
        value = self.expression()
        if self.take("TO"):
            return [value, parse_time_unit(self)]
        return [value, *self._further()]

    def _units_first(self) -> _Arguments:
        unit = parse_time_unit(self)
        return [unit, *self._further()]

    def _further(self) -> _Arguments:
        return [self.expression() for _ in iter(lambda: self.take(","), False)]

    def _position(self) -> _Arguments:
        arguments = [self.operand()]
        self.need("IN")
        arguments.append(self.expression())
        if self.take("FROM"):
            arguments.append(self.expression())
        return arguments

    def _overlay(self) -> _Arguments:
        arguments = [self.expression()]
        if self.at(","):
            return arguments + self._further()
        for word in ("PLACING", "FROM"):
            self.need(word)
            arguments.append(self.expression())
        if self.take("FOR"):
            arguments.append(self.expression())
        return arguments

    def _substring(self) -> _Arguments:
        arguments = [self.expression()]
        if not self.take("FROM"):
            return arguments + self._further()
        arguments.append(self.expression())
        if self.take("FOR"):
            arguments.append(self.expression())
        return arguments

    def _trim(self) -> _Arguments:
        mark = self.index
        side = self.take_one("BOTH", "LEADING", "TRAILING")
        word = self.placed(exp.Var(this=side or "BOTH"), mark)
        blank = self.placed(exp.Literal(this=" ", is_string=True), mark)
        if side and self.take("FROM"):
            return [word, blank, self.expression()]
        value = self.expression()
        if self.take("FROM"):
            return [word, value, self.expression()]
        return [word, blank, value] if side else [value, *self._further()]

    def _json_path_call(self) -> _Arguments:
        """Parse the arguments of JSON_VALUE, JSON_QUERY and JSON_EXISTS."""
        arguments = [self.expression()]
        self.take("FORMAT", "JSON")
        self.need(",")
        arguments.append(self.expression())
        if self.at("RETURNING"):
            arguments.append(self._returning())
        if self.at("WITHOUT", "WITH"):
            arguments.append(self._wrapper())
        while not self.at(")"):
            arguments.append(self._on_empty_or_error())
        return arguments

    def _returning(self) -> exp.Expr:
        mark = self.index
        self.need("RETURNING")
        return self.placed(JsonBehavior(this=parse_type_name(self), on="RETURNING"), mark)

    def _wrapper(self) -> exp.Expr:
        mark = self.index
        kind = "WITHOUT"
        if self.need_one("WITHOUT", "WITH") == "WITH":
            kind = self.take_one("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
        self.take("ARRAY")
        self.need("WRAPPER")
        return self.placed(JsonBehavior(this=kind, on="WRAPPER"), mark)

    def _on_empty_or_error(self) -> exp.Expr:
        mark = self.index
        args: dict[str, Any] = {
            "this": self.need_one("NULL", "ERROR", "DEFAULT", "EMPTY", "TRUE", "FALSE", "UNKNOWN")
        }
        if args["this"] == "DEFAULT":
            args["expression"] = self.expression()
        elif args["this"] == "EMPTY":
            args["this"] = f"EMPTY {self.need_one('ARRAY', 'OBJECT')}"
        self.need("ON")
        return self.placed(JsonBehavior(**args, on=self.need_one("EMPTY", "ERROR")), mark)

    def _json_constructor(self, item: Callable[[], exp.Expr]) -> _Arguments:
        """Parse the arguments of JSON_OBJECT, JSON_ARRAY and their aggregates."""
        arguments: _Arguments = []
        if not self.at(")", "ABSENT") and not self.at_all("NULL", "ON"):
            arguments = self.listed(item)
        if self.at("ORDER"):
            raise self.error(
                "JSON_ARRAYAGG takes no ORDER BY: its elements have the order of the input"
            )
        mark = self.index
        if self.at("ABSENT") or self.at_all("NULL", "ON"):
            behavior = self.need_one("NULL", "ABSENT")
            self.need("ON", "NULL")
            arguments.append(self.placed(JsonBehavior(this=behavior, on="NULL"), mark))
        return arguments

    def _json_object(self) -> _Arguments:
        return self._json_constructor(self._json_entry)

    def _json_array(self) -> _Arguments:
        return self._json_constructor(self._json_value)

    def _json_value(self) -> exp.Expr:
        value = self.expression()
        self.take("FORMAT", "JSON")
        return value

    def _json_entry(self) -> exp.Expr:
        mark = self.index
        with_word = self.at("KEY") and self.peek().key not in ("VALUE", ":", ",", ")", ".")
        if with_word:
            self.advance()
        key = self.expression()
        if not self.take(":"):
            self.need("VALUE")
        return self.placed(JsonEntry(this=key, expression=self._json_value()), mark)


_PREDICATE_READERS: dict[str, Callable[[ExpressionParser, exp.Expr], exp.Expr]] = {
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
_CALL_READERS: dict[str, Callable[[ExpressionParser], _Arguments]] = {
    "CEIL": ExpressionParser._rounded,
    "CEILING": ExpressionParser._rounded,
    "EXTRACT": ExpressionParser._extract,
    "FLOOR": ExpressionParser._rounded,
    "JSON_ARRAY": ExpressionParser._json_array,
    "JSON_ARRAYAGG": ExpressionParser._json_array,
    "JSON_EXISTS": ExpressionParser._json_path_call,
    "JSON_OBJECT": ExpressionParser._json_object,
    "JSON_OBJECTAGG": ExpressionParser._json_object,
    "JSON_QUERY": ExpressionParser._json_path_call,
    "JSON_VALUE": ExpressionParser._json_path_call,
    "OVERLAY": ExpressionParser._overlay,
    "POSITION": ExpressionParser._position,
    "SUBSTRING": ExpressionParser._substring,
    "TIMESTAMPADD": ExpressionParser._units_first,
    "TIMESTAMPDIFF": ExpressionParser._units_first,
    "TRIM": ExpressionParser._trim,
}
