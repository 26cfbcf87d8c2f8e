"""Parser of Flink SQL: text to statements, queries and expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from millrace.common.types.logical.logical_type import LogicalType
from millrace.sql.dialect.alter_statements import parse_alter
from millrace.sql.dialect.control_statements import (
    parse_add,
    parse_call,
    parse_compile,
    parse_describe,
    parse_execute,
    parse_explain,
    parse_load,
    parse_remove,
    parse_reset,
    parse_set,
    parse_show,
    parse_stop,
    parse_unload,
    parse_use,
)
from millrace.sql.dialect.create_statements import parse_create, parse_drop, parse_replace
from millrace.sql.dialect.modify_statements import (
    parse_analyze,
    parse_begin,
    parse_delete,
    parse_insert,
    parse_truncate,
    parse_update,
)
from millrace.sql.dialect.statement_parser import StatementParser
from millrace.sql.dialect.types import parse_data_type
from millrace.sql.errors import SqlParserError
from millrace.sql.position import NamePositions
from millrace.sql.statements import Query, Statement

__all__ = ["parse", "parse_expression", "parse_query", "parse_statement", "parse_type"]

_Parsed = TypeVar("_Parsed")


def parse(text: str) -> list[Statement]:
    """The statements of a text, separated by semicolons; comments are ignored.

    Example:
        >>> [type(statement).__name__ for statement in parse("USE db; SELECT 1;")]
        ['UseDatabase', 'Query']

    Raises:
        SqlParserError: a part of the text is not a statement of Flink SQL.
    """
    return _parsed(text, _statements)


def parse_statement(text: str) -> Statement:
    """The only statement of a text; a semicolon may follow it.

    Raises:
        SqlParserError: the text is not a statement, or has more than one.
    """
    return _parsed(text, _only_statement)


def parse_query(text: str) -> exp.Expr:
    """The syntax tree of a query, with the nodes of `millrace.sql.dialect`.

    Example:
        >>> parse_query("SELECT a FROM t WHERE b > 1").args["where"].this.key
        'gt'

    Raises:
        SqlParserError: the text is not a query.
    """
    return _parsed(text, lambda parser: _whole(parser, parser.query))


def parse_expression(text: str) -> exp.Expr:
    """The syntax tree of an expression, with the nodes of `millrace.sql.dialect`.

    Raises:
        SqlParserError: the text is not an expression.
    """
    return _parsed(text, lambda parser: _whole(parser, parser.expression))


def parse_type(text: str) -> LogicalType:
    """The type that a text describes; errors contain line and column.

    Raises:
        SqlParserError: the text is not a type.
    """
    return _parsed(text, lambda parser: _whole(parser, lambda: parse_data_type(parser)))


def _parsed(text: str, read: Callable[[StatementParser], _Parsed]) -> _Parsed:
    parser = StatementParser(text)
    try:
        return read(parser)
    except RecursionError:
        # the program's own calls leave too little of Python's stack
        raise parser.error("this is nested too deeply") from None


def _whole(parser: StatementParser, read: Callable[[], _Parsed]) -> _Parsed:
    parsed = read()
    parser.take(";")
    if not parser.at_end():
        raise parser.unexpected()
    return parsed


def _statements(parser: StatementParser) -> list[Statement]:
    statements: list[Statement] = []
    while True:
        while parser.take(";"):
            pass
        if parser.at_end():
            return statements
        statements.append(_statement(parser))
        if not parser.at(";") and not parser.at_end():
            raise parser.unexpected()


def _only_statement(parser: StatementParser) -> Statement:
    statements = _statements(parser)
    if len(statements) != 1:
        number = "no statement" if not statements else f"{len(statements)} statements"
        raise SqlParserError(f"one statement is expected, not {number}", parser.text, parser.start)
    return statements[0]


def _statement(parser: StatementParser) -> Statement:
    mark = parser.index
    parser.name_positions = NamePositions()
    read = _READERS.get(parser.token.key)
    if read is not None:
        return read(parser)
    if parser.at("SELECT", "WITH", "VALUES", "(", "TABLE"):
        return Query(parser.query(), **parser.origin(mark))
    parser.at(*_READERS)
    raise parser.unexpected("a statement")


_READERS: dict[str, Callable[[StatementParser], Statement]] = {
    "ADD": parse_add,
    "ALTER": parse_alter,
    "ANALYZE": parse_analyze,
    "BEGIN": parse_begin,
    "CALL": parse_call,
    "COMPILE": parse_compile,
    "CREATE": parse_create,
    "DELETE": parse_delete,
    "DESC": parse_describe,
    "DESCRIBE": parse_describe,
    "DROP": parse_drop,
    "EXECUTE": parse_execute,
    "EXPLAIN": parse_explain,
    "INSERT": parse_insert,
    "LOAD": parse_load,
    "REMOVE": parse_remove,
    "REPLACE": parse_replace,
    "RESET": parse_reset,
    "SET": parse_set,
    "SHOW": parse_show,
    "STOP": parse_stop,
    "TRUNCATE": parse_truncate,
    "UNLOAD": parse_unload,
    "UPDATE": parse_update,
    "USE": parse_use,
}
