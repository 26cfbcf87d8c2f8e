"""Parser of INSERT, DELETE, UPDATE, TRUNCATE and ANALYZE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.create_statements import CreateParser
from millrace.sql.statements import (
    Analyze,
    Assignment,
    Delete,
    Insert,
    InsertSet,
    Path,
    Statement,
    TruncateTable,
    Update,
)

__all__ = ["ModifyParser"]


class ModifyParser(CreateParser):
    """Reads statements that change the contents of tables."""

    def partition(self) -> dict[str, exp.Expr | None]:
        """Parse ``PARTITION (a = 1, b)`` after its first word."""
        self.need("(")
        found: dict[str, exp.Expr | None] = {}
        while not found or self.take(","):
            mark = self.index
            name = self.name("the name of a column")
            if name in found:
                raise self.error(f"the partition names {name} twice", mark)
            found[name] = self._partition_value() if self.take("=") else None
        self.need(")")
        return found

    def _partition_value(self) -> exp.Expr:
        mark = self.index
        negative = self.take("-")
        value = self.literal()
        if value is None:
            raise self.unexpected("a literal")
        return self.placed(exp.Neg(this=value), mark) if negative else value

    def insert(self) -> Insert:
        """Parse an INSERT statement."""
        self.need("INSERT")
        overwrite = self.need_one("INTO", "OVERWRITE") == "OVERWRITE"
        if overwrite:
            self.take("INTO")
        self.take("TABLE")
        mark = self.index
        args: dict[str, Any] = {"path": self.path("the name of a table"), "overwrite": overwrite}
        args |= self.origin(mark)
        if self.at("/*+"):
            args["hints"] = self._options_hint()
        if self.take("PARTITION"):
            args["partition"] = self.partition()
        if self.at("(") and not self.at_query():
            args["columns"] = tuple(self.bracketed(self._target))
        args["query"] = self.query()
        if self.take("ON"):
            self.need("CONFLICT", "DO")
            args["conflict"] = self.need_one("ERROR", "NOTHING", "DEDUPLICATE")
        return Insert(**args)

    def _target(self) -> Path:
        return self.path("the name of a column", 3)

    def _options_hint(self) -> dict[str, str]:
        mark = self.index
        found: dict[str, str] = {}
        for hint in self.hints():
            if hint.name != "OPTIONS":
                raise self.error("the table of an INSERT takes the hint OPTIONS only", mark)
            found |= hint.options
        return found

    def statement_set(self) -> InsertSet:
        """Parse ``STATEMENT SET BEGIN ... END`` after EXECUTE."""
        mark = self.index
        self.need("STATEMENT", "SET", "BEGIN")
        return self._inserts(mark)

    def begin(self) -> InsertSet:
        """Parse ``BEGIN STATEMENT SET; ... END``, as Flink's client accepts it."""
        mark = self.index
        self.need("BEGIN", "STATEMENT", "SET", ";")
        return self._inserts(mark)

    def _inserts(self, mark: int) -> InsertSet:
        found: list[Insert] = []
        while not self.at("END"):
            if not self.at("INSERT"):
                raise self.unexpected("INSERT or END")
            found.append(self.insert())
            if not self.take(";") and not self.at("END"):
                raise self.unexpected()
        if not found:
            raise self.unexpected("INSERT")
        self.need("END")
        return InsertSet(tuple(found), **self.origin(mark))

    def delete(self) -> Statement:
        """Parse a DELETE statement."""
        self.need("DELETE", "FROM")
        mark = self.index
        path = self.path("the name of a table")
        origin = self.origin(mark)
        return Delete(path, self._alias(), self._where(), **origin)

    def _alias(self) -> str | None:
        return self.name() if self.take("AS") or self.at_name() else None

    def _where(self) -> exp.Expr | None:
        return self.expression() if self.take("WHERE") else None

    def update(self) -> Statement:
        """Parse an UPDATE statement."""
        self.need("UPDATE")
        mark = self.index
        path = self.path("the name of a table")
        origin = self.origin(mark)
        alias = self._alias()
        self.need("SET")
        changes = tuple(self.listed(self._assignment))
        return Update(path, changes, alias, self._where(), **origin)

    def _assignment(self) -> Assignment:
        column = self._target()
        self.need("=")
        return Assignment(column, self.expression())

    def truncate(self) -> Statement:
        """Parse TRUNCATE TABLE."""
        self.need("TRUNCATE", "TABLE")
        mark = self.index
        return TruncateTable(self.path("the name of a table"), **self.origin(mark))

    def analyze(self) -> Statement:
        """Parse ANALYZE TABLE."""
        self.need("ANALYZE", "TABLE")
        mark = self.index
        args: dict[str, Any] = {"path": self.path("the name of a table"), **self.origin(mark)}
        if self.take("PARTITION"):
            args["partition"] = self.partition()
        self.need("COMPUTE", "STATISTICS")
        if self.take("FOR"):
            if self.take("ALL"):
                args["all_columns"] = True
                self.need("COLUMNS")
            else:
                self.need("COLUMNS")
                args["columns"] = tuple(self.listed(self.name))
        return Analyze(**args)
