"""Parser of Flink SQL: text to statements, queries and expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from millrace.common.types.logical.logical_type import LogicalType
from millrace.sql.dialect.control_statements import ControlParser
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
    return _parsed(text, lambda parser: _whole(parser, parser.type))


def _parsed(text: str, read: Callable[[ControlParser], _Parsed]) -> _Parsed:
    parser = ControlParser(text)
    try:
        return read(parser)
    except RecursionError:
        # the program's own calls leave too little of Python's stack
        raise parser.error("this is nested too deeply") from None


def _whole(parser: ControlParser, read: Callable[[], _Parsed]) -> _Parsed:
    found = read()
    parser.take(";")
    if not parser.at_end():
        raise parser.unexpected()
    return found


def _statements(parser: ControlParser) -> list[Statement]:
    found: list[Statement] = []
    while True:
        while parser.take(";"):
            pass
        if parser.at_end():
            return found
        found.append(_statement(parser))
        if not parser.at(";") and not parser.at_end():
            raise parser.unexpected()


def _only_statement(parser: ControlParser) -> Statement:
    found = _statements(parser)
    if len(found) != 1:
        number = "no statement" if not found else f"{len(found)} statements"
        raise SqlParserError(f"one statement is expected, not {number}", parser.text, parser.start)
    return found[0]


def _statement(parser: ControlParser) -> Statement:
    mark = parser.index
    parser.name_positions = NamePositions()
    read = _READERS.get(parser.token.key)
    if read is not None:
        return read(parser)
    if parser.at("SELECT", "WITH", "VALUES", "(", "TABLE"):
        return Query(parser.query(), **parser.origin(mark))
    parser.at(*_READERS)
    raise parser.unexpected("a statement")


_READERS: dict[str, Callable[[ControlParser], Statement]] = {
    "ADD": ControlParser.add,
    "ALTER": ControlParser.alter,
    "ANALYZE": ControlParser.analyze,
    "BEGIN": ControlParser.begin,
    "CALL": ControlParser.procedure,
    "COMPILE": ControlParser.compile,
    "CREATE": ControlParser.create,
    "DELETE": ControlParser.delete,
    "DESC": ControlParser.describe,
    "DESCRIBE": ControlParser.describe,
    "DROP": ControlParser.drop,
    "EXECUTE": ControlParser.execute,
    "EXPLAIN": ControlParser.explain,
    "INSERT": ControlParser.insert,
    "LOAD": ControlParser.load,
    "REMOVE": ControlParser.remove,
    "REPLACE": ControlParser.replace,
    "RESET": ControlParser.reset,
    "SET": ControlParser.set,
    "SHOW": ControlParser.show,
    "STOP": ControlParser.stop,
    "TRUNCATE": ControlParser.truncate,
    "UNLOAD": ControlParser.unload,
    "UPDATE": ControlParser.update,
    "USE": ControlParser.use,
}
