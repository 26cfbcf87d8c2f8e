"""Parser of queries: SELECT, VALUES, WITH, set operations, ORDER BY and LIMIT."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.expressions import ExpressionParser
from millrace.sql.dialect.nodes import NamedWindow
from millrace.sql.dialect.tables import parse_hints, parse_table_alias, parse_tables
from millrace.sql.dialect.tokenizer import NUMBER

__all__ = ["QueryParser"]

_AFTER_ITEM = ("FROM", "AS", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", ",")
_AFTER_FROM = ("WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY")


class QueryParser(ExpressionParser):
    """Reads queries."""

    def query(self) -> exp.Expr:
        self.enter()
        mark = self.index
        ctes = self._with() if self.at("WITH") else None
        body = self._set_operation()
        self._order_and_limit(body)
        if ctes is not None:
            body.set("with_", ctes)
        self.leave()
        return self.placed(body, mark)

    def _with(self) -> exp.Expr:
        mark = self.index
        self.need("WITH")
        if self.at("RECURSIVE"):
            raise self.error("Flink has no recursive queries: write WITH without RECURSIVE")
        return self.placed(exp.With(expressions=self.listed(self._common_table)), mark)

    def _common_table(self) -> exp.Expr:
        mark = self.index
        alias = parse_table_alias(self)
        self.need("AS")
        return self.placed(exp.CTE(this=self.bracketed_query(), alias=alias), mark)

    def _set_operation(self) -> exp.Expr:
        """Parse UNION and EXCEPT, from left to right; INTERSECT binds more strongly."""
        mark = self.index
        combined = self._intersection()
        length = 0
        while word := self.take_one("UNION", "EXCEPT"):
            length += 1
            self.check_chain(length, "set operations")
            kind = exp.Union if word == "UNION" else exp.Except
            combined = self._combined(
                mark, kind, combined, not self._takes_all(), self._intersection()
            )
        if self.at("MINUS"):
            raise self.error("Flink has no MINUS: write EXCEPT")
        return combined

    def _intersection(self) -> exp.Expr:
        mark = self.index
        combined = self._simple_query()
        length = 0
        while self.take("INTERSECT"):
            length += 1
            self.check_chain(length, "set operations")
            distinct = not self._takes_all()
            combined = self._combined(mark, exp.Intersect, combined, distinct, self._simple_query())
        return combined

    def _takes_all(self) -> bool:
        return self.take_one("ALL", "DISTINCT") == "ALL"

    def _combined(
        self,
        mark: int,
        kind: type[exp.SetOperation],
        left: exp.Expr,
        distinct: bool,
        right: exp.Expr,
    ) -> exp.Expr:
        return self.placed(kind(this=left, expression=right, distinct=distinct), mark)

    def _simple_query(self) -> exp.Expr:
        mark = self.index
        if self.at("SELECT"):
            return self._select()
        if self.take("VALUES"):
            rows = self.listed(self._values_row)
            return self.placed(exp.Values(expressions=rows), mark)
        if self.take("TABLE"):
            at = self.index
            source = self.placed(exp.From(this=self.table_name()), at)
            star = self.placed(exp.Star(), mark)
            return self.placed(exp.Select(expressions=[star], from_=source), mark)
        if self.at("("):
            return self.placed(exp.Subquery(this=self.bracketed_query()), mark)
        raise self.unexpected("a query (SELECT, VALUES, WITH)")

    def _values_row(self) -> exp.Expr:
        mark = self.index
        row = self.take("ROW")
        if (
            self.at("(")
            and not self.at_query()
            and (row or self.after_brackets().key in _AFTER_ROW)
        ):
            return self.placed(exp.Tuple(expressions=self.bracketed(self.expression)), mark)
        return self.placed(exp.Tuple(expressions=[self.expression()]), mark)

    def _select(self) -> exp.Expr:
        mark = self.index
        self.need("SELECT")
        args: dict[str, Any] = {}
        hint = self.index
        if self.at("/*+"):
            args["hint"] = self.placed(exp.Hint(expressions=parse_hints(self)), hint)
        distinct = self.index
        if self.take_one("ALL", "DISTINCT") == "DISTINCT":
            args["distinct"] = self.placed(exp.Distinct(), distinct)
        args["expressions"] = self.listed(self._select_item)
        clause = self.index
        if self.take("FROM"):
            args["from_"] = self.placed(exp.From(this=parse_tables(self)), clause)
            self._filters(args)
        return self.placed(exp.Select(**args), mark)

    def _filters(self, args: dict[str, Any]) -> None:
        clause = self.index
        if self.take("WHERE"):
            args["where"] = self.placed(exp.Where(this=self.expression()), clause)
        clause = self.index
        if self.take("GROUP", "BY"):
            args["group"] = self.placed(exp.Group(expressions=self._groups()), clause)
        clause = self.index
        if self.take("HAVING"):
            args["having"] = self.placed(exp.Having(this=self.expression()), clause)
        if self.take("WINDOW"):
            args["windows"] = self.listed(self._named_window)
        clause = self.index
        if self.take("QUALIFY"):
            args["qualify"] = self.placed(exp.Qualify(this=self.expression()), clause)

    def _select_item(self) -> exp.Expr:
        mark = self.index
        if self.take("*"):
            return self.placed(exp.Star(), mark)
        item = self.expression()
        self.at(*_AFTER_ITEM)
        if self.take("AS") or self.at_name():
            return self.placed(exp.Alias(this=item, alias=self.identifier()), mark)
        return item

    def _groups(self) -> list[exp.Expr]:
        if self.take_one("DISTINCT", "ALL") == "DISTINCT":
            raise self.error("Flink has no GROUP BY DISTINCT")
        return self.listed(self._group)

    def _group(self) -> exp.Expr:
        mark = self.index
        if self.take("GROUPING", "SETS"):
            return self.placed(exp.GroupingSets(expressions=self.bracketed(self._group)), mark)
        word = self.token.key
        if word in ("ROLLUP", "CUBE"):
            self.advance()
            kind = exp.Rollup if word == "ROLLUP" else exp.Cube
            return self.placed(kind(expressions=self.bracketed(self._group_item)), mark)
        return self._group_item()

    def _group_item(self) -> exp.Expr:
        """Parse an expression, or a list of expressions in brackets, which may be empty."""
        mark = self.index
        if self.at("(") and self.peek().key == ")":
            self.need("(", ")")
            return self.placed(exp.Tuple(expressions=[]), mark)
        if self.at("(") and not self.at_query() and self.after_brackets().key in _AFTER_GROUP:
            return self.placed(exp.Tuple(expressions=self.bracketed(self.expression)), mark)
        return self.expression()

    def _named_window(self) -> exp.Expr:
        mark = self.index
        name = self.identifier("the name of a window")
        self.need("AS")
        return self.placed(NamedWindow(this=name, expression=self.window()), mark)

    def _order_and_limit(self, query: exp.Expr) -> None:
        mark = self.index
        if self.at("ORDER"):
            order = self.placed(exp.Order(expressions=self.order_items()), mark)
            self._attach(query, "order", order)
        while self.at("LIMIT", "OFFSET", "FETCH"):
            self._limit(query)

    def _limit(self, query: exp.Expr) -> None:
        mark, word = self.index, self.advance().key
        if word == "LIMIT" and self.take("ALL"):
            return
        if word == "FETCH":
            self.need_one("FIRST", "NEXT")
        if self.token.kind != NUMBER:
            raise self.unexpected(f"the number of rows after {word}")
        at = self.index
        number = self.placed(exp.Literal(this=str(self.number()), is_string=False), at)
        if word == "OFFSET":
            self.take_one("ROW", "ROWS")
            self._attach(query, "offset", self.placed(exp.Offset(expression=number), mark))
            return
        if word == "FETCH":
            self.need_one("ROW", "ROWS")
            self.need("ONLY")
        elif self.at(","):
            raise self.error("write LIMIT count OFFSET start instead")
        self._attach(query, "limit", self.placed(exp.Limit(expression=number), mark))

    def _attach(self, query: exp.Expr, clause: str, node: exp.Expr) -> None:
        if query.args.get(clause) is not None:
            raise self.error(f"this query has two {clause.upper()} clauses")
        query.set(clause, node)


_AFTER_ROW = frozenset(
    {",", ")", ";", "", *("ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "MINUS")}
)
_AFTER_ROW |= {"INTERSECT", "EXCEPT", "AS"}
_AFTER_GROUP = _AFTER_ROW | {"HAVING", "WINDOW", "QUALIFY"}
