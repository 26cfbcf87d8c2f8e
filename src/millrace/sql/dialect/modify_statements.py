"""Parser of INSERT, DELETE, UPDATE, TRUNCATE and ANALYZE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.literals import parse_literal
from millrace.sql.dialect.statement_parser import StatementParser
from millrace.sql.dialect.tables import parse_hints
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

__all__ = [
    "parse_analyze",
    "parse_begin",
    "parse_delete",
    "parse_insert",
    "parse_partition",
    "parse_statement_set",
    "parse_truncate",
    "parse_update",
]


def parse_partition(parser: StatementParser) -> dict[str, exp.Expr | None]:
    """Parse ``PARTITION (a = 1, b)`` after its first word."""
    parser.need("(")
    values: dict[str, exp.Expr | None] = {}
    while not values or parser.take(","):
        mark = parser.index
        name = parser.name("the name of a column")
        if name in values:
            raise parser.error(f"the partition names {name} twice", mark)
        values[name] = _partition_value(parser) if parser.take("=") else None
    parser.need(")")
    return values


def _partition_value(parser: StatementParser) -> exp.Expr:
    mark = parser.index
    negative = parser.take("-")
    value = parse_literal(parser)
    if value is None:
        raise parser.unexpected("a literal")
    return parser.placed(exp.Neg(this=value), mark) if negative else value


def parse_insert(parser: StatementParser) -> Insert:
    """Parse an INSERT statement."""
    parser.need("INSERT")
    overwrite = parser.need_one("INTO", "OVERWRITE") == "OVERWRITE"
    if overwrite:
        parser.take("INTO")
    parser.take("TABLE")
    mark = parser.index
    args: dict[str, Any] = {"path": parser.path("the name of a table"), "overwrite": overwrite}
    args |= parser.origin(mark)
    if parser.at("/*+"):
        args["hints"] = _options_hint(parser)
    if parser.take("PARTITION"):
        args["partition"] = parse_partition(parser)
    if parser.at("(") and not parser.at_query():
        args["columns"] = tuple(parser.bracketed(lambda: _target(parser)))
    args["query"] = parser.query()
    if parser.take("ON"):
        parser.need("CONFLICT", "DO")
        args["conflict"] = parser.need_one("ERROR", "NOTHING", "DEDUPLICATE")
    return Insert(**args)


def _target(parser: StatementParser) -> Path:
    return parser.path("the name of a column", 3)


def _options_hint(parser: StatementParser) -> dict[str, str]:
    mark = parser.index
    options: dict[str, str] = {}
    for hint in parse_hints(parser):
        if hint.name != "OPTIONS":
            raise parser.error("the table of an INSERT takes the hint OPTIONS only", mark)
        options |= hint.options
    return options


def parse_statement_set(parser: StatementParser) -> InsertSet:
    """Parse ``STATEMENT SET BEGIN ... END`` after EXECUTE."""
    mark = parser.index
    parser.need("STATEMENT", "SET", "BEGIN")
    return _inserts(parser, mark)


def parse_begin(parser: StatementParser) -> InsertSet:
    """Parse ``BEGIN STATEMENT SET; ... END``, as Flink's client accepts it."""
    mark = parser.index
    parser.need("BEGIN", "STATEMENT", "SET", ";")
    return _inserts(parser, mark)


def _inserts(parser: StatementParser, mark: int) -> InsertSet:
    inserts: list[Insert] = []
    while not parser.at("END"):
        if not parser.at("INSERT"):
            raise parser.unexpected("INSERT or END")
        inserts.append(parse_insert(parser))
        if not parser.take(";") and not parser.at("END"):
            raise parser.unexpected()
    if not inserts:
        raise parser.unexpected("INSERT")
    parser.need("END")
    return InsertSet(tuple(inserts), **parser.origin(mark))


def parse_delete(parser: StatementParser) -> Statement:
    """Parse a DELETE statement."""
    parser.need("DELETE", "FROM")
    mark = parser.index
    path = parser.path("the name of a table")
    origin = parser.origin(mark)
    return Delete(path, _alias(parser), _where(parser), **origin)


def _alias(parser: StatementParser) -> str | None:
    return parser.name() if parser.take("AS") or parser.at_name() else None


def _where(parser: StatementParser) -> exp.Expr | None:
    return parser.expression() if parser.take("WHERE") else None


def parse_update(parser: StatementParser) -> Statement:
    """Parse an UPDATE statement."""
    parser.need("UPDATE")
    mark = parser.index
    path = parser.path("the name of a table")
    origin = parser.origin(mark)
    alias = _alias(parser)
    parser.need("SET")
    changes = tuple(parser.listed(lambda: _assignment(parser)))
    return Update(path, changes, alias, _where(parser), **origin)


def _assignment(parser: StatementParser) -> Assignment:
    column = _target(parser)
    parser.need("=")
    return Assignment(column, parser.expression())


def parse_truncate(parser: StatementParser) -> Statement:
    """Parse TRUNCATE TABLE."""
    parser.need("TRUNCATE", "TABLE")
    mark = parser.index
    return TruncateTable(parser.path("the name of a table"), **parser.origin(mark))


def parse_analyze(parser: StatementParser) -> Statement:
    """Parse ANALYZE TABLE."""
    parser.need("ANALYZE", "TABLE")
    mark = parser.index
    args: dict[str, Any] = {"path": parser.path("the name of a table"), **parser.origin(mark)}
    if parser.take("PARTITION"):
        args["partition"] = parse_partition(parser)
    parser.need("COMPUTE", "STATISTICS")
    if parser.take("FOR"):
        if parser.take("ALL"):
            args["all_columns"] = True
            parser.need("COLUMNS")
        else:
            parser.need("COLUMNS")
            args["columns"] = tuple(parser.listed(parser.name))
    return Analyze(**args)
