"""Parser of tables in FROM: names, subqueries, functions, joins, aliases, hints."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.match_recognize import MatchParser
from millrace.sql.dialect.nodes import (
    CollectionTable,
    FunctionCall,
    Hint,
    HintOption,
    JoinedTables,
    SystemTime,
    TableFunctionCall,
)
from millrace.sql.dialect.tokenizer import END, NUMBER, STRING

__all__ = ["TableParser"]

_JOINS = ("JOIN", "NATURAL", "INNER", "LEFT", "RIGHT", "FULL", "CROSS")
_AFTER_TABLE = (
    *_JOINS,
    *("WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "UNION", "ON", "USING", "AS"),
)


class TableParser(MatchParser):
    """Reads FROM clauses."""

    def tables(self) -> exp.Expr:
        """Parse ``a, b JOIN c ON ...``: commas bind more weakly than joins."""
        mark = self.index
        found = self._joined_tables()
        length = 0
        while self.take(","):
            length += 1
            self.check_chain(length, "tables")
            right = self._joined_tables()
            found = JoinedTables(this=found, expression=right, kind="COMMA")
            self.placed(found, mark)
        return found

    def _joined_tables(self) -> exp.Expr:
        mark = self.index
        found = self.table()
        length = 0
        while self.at(*_JOINS):
            length += 1
            self.check_chain(length, "joins")
            found = self._join(mark, found)
        return found

    def _join(self, mark: int, left: exp.Expr) -> exp.Expr:
        args: dict[str, Any] = {"this": left}
        if self.take("NATURAL"):
            args["natural"] = True
        kind = self.take_one("INNER", "LEFT", "RIGHT", "FULL", "CROSS") or "INNER"
        if kind in ("LEFT", "RIGHT", "FULL"):
            self.take("OUTER")
        self.need("JOIN")
        args |= {"expression": self.table(), "kind": kind}
        needs_condition = kind != "CROSS" and "natural" not in args
        if needs_condition and self.take("USING"):
            args["using"] = self.bracketed(self.identifier)
        elif needs_condition and self.take("ON"):
            args["on"] = self.expression()
        elif needs_condition:
            raise self.unexpected()
        return self.placed(JoinedTables(**args), mark)

    def table(self) -> exp.Expr:
        """Parse a table without joins, or joins in brackets."""
        self.enter()
        found = self._table()
        self.leave()
        return found

    def _table(self) -> exp.Expr:
        mark = self.index
        if self.take("LATERAL"):
            return self._lateral(mark)
        if self.at("TABLE"):
            return self._aliased(mark, self._function_table(mark))
        if self.at("UNNEST") and self.peek().key == "(":
            return self._aliased(mark, self._unnest(mark))
        if self.at("("):
            if not self.at_query():
                self.need("(")
                joined = self.tables()
                self.need(")")
                return self._matched(mark, joined)
            subquery = self.placed(exp.Subquery(this=self.bracketed_query()), mark)
            return self._aliased(mark, self._matched(mark, subquery))
        name = self.table_name()
        if self.at("("):
            path = [name.args[part] for part in ("catalog", "db", "this") if name.args.get(part)]
            found = TableFunctionCall(this=self.call(mark, path))
            return self._aliased(mark, self.placed(found, mark))
        return self._named_table(mark, name)

    def _named_table(self, mark: int, found: exp.Table) -> exp.Expr:
        if self.at("/*+"):
            found.set("hints", self.hints())
        if self.take("FOR", "SYSTEM_TIME"):
            at = self.index
            self.need("AS", "OF")
            found.set("version", self.placed(SystemTime(this=self.operand()), at))
        self.placed(found, mark)
        return self._aliased(mark, self._matched(mark, found))

    def _matched(self, mark: int, table: exp.Expr) -> exp.Expr:
        if not self.at("MATCH_RECOGNIZE"):
            return table
        return self._aliased(mark, self.match_recognize(mark, table))

    def _lateral(self, mark: int) -> exp.Expr:
        if self.at("UNNEST"):
            return self._aliased(mark, self._unnest(self.index))
        if not self.at("("):
            found = self._function_table(mark)
            found.set("lateral", True)
            return self._aliased(mark, found)
        if not self.at_query():
            raise self.error("after LATERAL stands a query in brackets, or TABLE(function(...))")
        inner = self.index
        subquery = self.placed(exp.Subquery(this=self.bracketed_query()), inner)
        return self._aliased(mark, self.placed(exp.Lateral(this=subquery), mark))

    def _function_table(self, mark: int) -> TableFunctionCall:
        wrapped = self.take("TABLE")
        if wrapped:
            self.need("(")
        call = self.expression() if wrapped else self._plain_call()
        if not isinstance(call, FunctionCall):
            raise self.error("TABLE(...) holds the call of a function", mark)
        args: dict[str, Any] = {"this": call}
        if wrapped:
            args["wrapped"] = True
            self.need(")")
            if self.take("WITH", "ORDINALITY"):
                args["ordinality"] = True
        return self.placed(TableFunctionCall(**args), mark)

    def _plain_call(self) -> exp.Expr:
        mark = self.index
        path = [self.identifier("the name of a function")]
        while self.take("."):
            path.append(self.identifier("a name after the point"))
        return self.call(mark, path)

    def _unnest(self, mark: int) -> exp.Expr:
        self.need("UNNEST")
        args: dict[str, Any] = {"expressions": self.bracketed(self._collection)}
        if self.take("WITH", "ORDINALITY"):
            args["ordinality"] = True
        return self.placed(CollectionTable(**args), mark)

    def _collection(self) -> exp.Expr:
        mark = self.index
        if self.at("SELECT", "WITH", "VALUES"):
            return self.placed(exp.Subquery(this=self.query()), mark)
        return self.expression()

    def _aliased(self, mark: int, table: exp.Expr) -> exp.Expr:
        if table.args.get("alias") is not None or isinstance(table, JoinedTables):
            return table
        self.at(*_AFTER_TABLE)
        if self.take("AS") or self.at_name():
            table.set("alias", self.table_alias())
        if self.at("TABLESAMPLE"):
            raise self.error("Flink has no TABLESAMPLE: filter by RAND() < 0.1")
        return self.placed(table, mark)

    def table_alias(self) -> exp.Expr:
        """Parse an alias ``t (a, b)``."""
        mark = self.index
        args: dict[str, Any] = {"this": self.identifier("a name for the table")}
        if self.at("("):
            args["columns"] = self.bracketed(self.identifier)
        return self.placed(exp.TableAlias(**args), mark)

    def hints(self) -> list[Hint]:
        """Parse hints ``/*+ NAME('key'='value'), OTHER(a, b) */``."""
        self.need("/*+")
        found = [self._hint()]
        while not self.at("*/"):
            self.take(",")
            found.append(self._hint())
        self.need("*/")
        return found

    def _hint(self) -> Hint:
        mark = self.index
        args: dict[str, Any] = {"this": self.name("the name of a hint").upper()}
        if self.take("("):
            if self.peek().key == "=":
                args["options"] = self.listed(self._hint_option)
            elif not self.at(")"):
                args["expressions"] = self.listed(self._hint_item)
            self.need(")")
        return self.placed(Hint(**args), mark)

    def _hint_option(self) -> exp.Expr:
        mark = self.index
        key = self._hint_text("a key")
        self.need("=")
        value = self._hint_text("a value in single quotes")
        return self.placed(HintOption(this=key, expression=value), mark)

    def _hint_text(self, wanted: str) -> exp.Expr:
        mark = self.index
        literal = self.token.kind in (STRING, NUMBER)
        text = self.advance().value if literal else self.name(wanted)
        return self.placed(exp.Literal(this=text, is_string=True), mark)

    def _hint_item(self) -> exp.Expr:
        if self.token.kind in (STRING, NUMBER):
            found = self.literal()
            assert found is not None
            return found
        if self.token.kind == END:
            raise self.unexpected("*/")
        mark = self.index
        path = [self.identifier("a name or a value")]
        while self.take("."):
            path.append(self.identifier("a name after the point"))
        return path[0] if len(path) == 1 else self._column(mark, path)
