"""Parser of function calls: their arguments and the clauses that may follow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot import exp

from millrace.sql.dialect.literals import LiteralParser
from millrace.sql.dialect.nodes import (
    DefaultValue,
    Descriptor,
    FrameBound,
    FunctionCall,
    ModelArgument,
    TableArgument,
    WindowFrame,
    WindowSpecification,
)
from millrace.sql.dialect.tokenizer import NAME, WORD

__all__ = ["CallParser"]

_Item = TypeVar("_Item")


class CallParser(LiteralParser):
    """Reads calls ``f(a, b) FILTER (...) OVER (...)``."""

    @abstractmethod
    def expression(self) -> exp.Expr:
        """Parse an expression."""

    @abstractmethod
    def query(self) -> exp.Expr:
        """Parse a query."""

    def listed(self, item: Callable[[], _Item]) -> list[_Item]:
        """Parse one or more items separated by commas."""
        found = [item()]
        while self.take(","):
            found.append(item())
        return found

    def bracketed(self, item: Callable[[], _Item]) -> list[_Item]:
        """Parse one or more items in parentheses, separated by commas."""
        self.need("(")
        found = self.listed(item)
        self.need(")")
        return found

    def bracketed_query(self) -> exp.Expr:
        """Parse a query in parentheses; the parentheses get no node."""
        self.need("(")
        found = self.query()
        self.need(")")
        return found

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
        """Parse the clauses behind a call's parenthesis; its arguments have been read."""
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
        return self.placed(exp.ColumnDef(this=name, kind=self.type_name()), mark)

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

    @abstractmethod
    def operand(self) -> exp.Expr:
        """Parse an expression without AND, OR, NOT and comparisons."""
