"""Parser of tables in FROM: names, subqueries, functions, joins, aliases, hints."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.expressions import ExpressionParser
from millrace.sql.dialect.literals import parse_literal
from millrace.sql.dialect.match_recognize import parse_match_recognize
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

__all__ = ["parse_hints", "parse_table_alias", "parse_tables"]

_JOINS = ("JOIN", "NATURAL", "INNER", "LEFT", "RIGHT", "FULL", "CROSS")
_AFTER_TABLE = (
    *_JOINS,
    *("WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "UNION", "ON", "USING", "AS"),
)


def parse_tables(parser: ExpressionParser) -> exp.Expr:
    """Parse ``a, b JOIN c ON ...``: commas bind more weakly than joins."""
    mark = parser.index
    joined = _joined_tables(parser)
    length = 0
    while parser.take(","):
        length += 1
        parser.check_chain(length, "tables")
        right = _joined_tables(parser)
        joined = JoinedTables(this=joined, expression=right, kind="COMMA")
        parser.placed(joined, mark)
    return joined


def _joined_tables(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    joined = _single_table(parser)
    length = 0
    while parser.at(*_JOINS):
        length += 1
        parser.check_chain(length, "joins")
        joined = _join(parser, mark, joined)
    return joined


def _join(parser: ExpressionParser, mark: int, left: exp.Expr) -> exp.Expr:
    args: dict[str, Any] = {"this": left}
    if parser.take("NATURAL"):
        args["natural"] = True
    kind = parser.take_one("INNER", "LEFT", "RIGHT", "FULL", "CROSS") or "INNER"
    if kind in ("LEFT", "RIGHT", "FULL"):
        parser.take("OUTER")
    parser.need("JOIN")
    args |= {"expression": _single_table(parser), "kind": kind}
    needs_condition = kind != "CROSS" and "natural" not in args
    if needs_condition and parser.take("USING"):
        args["using"] = parser.bracketed(parser.identifier)
    elif needs_condition and parser.take("ON"):
        args["on"] = parser.expression()
    elif needs_condition:
        raise parser.unexpected()
    return parser.placed(JoinedTables(**args), mark)


def _single_table(parser: ExpressionParser) -> exp.Expr:
    """Parse a table without joins, or joins in brackets."""
    parser.enter()
    table = _table(parser)
    parser.leave()
    return table


def _table(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    if parser.take("LATERAL"):
        return _lateral(parser, mark)
    if parser.at("TABLE"):
        return _aliased(parser, mark, _function_table(parser, mark))
    if parser.at("UNNEST") and parser.peek().key == "(":
        return _aliased(parser, mark, _unnest(parser, mark))
    if parser.at("("):
        if not parser.at_query():
            parser.need("(")
            joined = parse_tables(parser)
            parser.need(")")
            return _matched(parser, mark, joined)
        subquery = parser.placed(exp.Subquery(this=parser.bracketed_query()), mark)
        return _aliased(parser, mark, _matched(parser, mark, subquery))
    name = parser.table_name()
    if parser.at("("):
        path = [name.args[part] for part in ("catalog", "db", "this") if name.args.get(part)]
        call = TableFunctionCall(this=parser.call(mark, path))
        return _aliased(parser, mark, parser.placed(call, mark))
    return _named_table(parser, mark, name)


def _named_table(parser: ExpressionParser, mark: int, table: exp.Table) -> exp.Expr:
    if parser.at("/*+"):
        table.set("hints", parse_hints(parser))
    if parser.take("FOR", "SYSTEM_TIME"):
        at = parser.index
        parser.need("AS", "OF")
        table.set("version", parser.placed(SystemTime(this=parser.operand()), at))
    parser.placed(table, mark)
    return _aliased(parser, mark, _matched(parser, mark, table))


def _matched(parser: ExpressionParser, mark: int, table: exp.Expr) -> exp.Expr:
    if not parser.at("MATCH_RECOGNIZE"):
        return table
    return _aliased(parser, mark, parse_match_recognize(parser, mark, table))


def _lateral(parser: ExpressionParser, mark: int) -> exp.Expr:
    if parser.at("UNNEST"):
        return _aliased(parser, mark, _unnest(parser, parser.index))
    if not parser.at("("):
        function_table = _function_table(parser, mark)
        function_table.set("lateral", True)
        return _aliased(parser, mark, function_table)
    if not parser.at_query():
        raise parser.error("LATERAL needs a query in brackets, or TABLE(function(...)), after it")
    inner = parser.index
    subquery = parser.placed(exp.Subquery(this=parser.bracketed_query()), inner)
    return _aliased(parser, mark, parser.placed(exp.Lateral(this=subquery), mark))


def _function_table(parser: ExpressionParser, mark: int) -> TableFunctionCall:
    wrapped = parser.take("TABLE")
    if wrapped:
        parser.need("(")
    call = parser.expression() if wrapped else _plain_call(parser)
    if not isinstance(call, FunctionCall):
        raise parser.error("TABLE(...) must contain the call of a function", mark)
    args: dict[str, Any] = {"this": call}
    if wrapped:
        args["wrapped"] = True
        parser.need(")")
        if parser.take("WITH", "ORDINALITY"):
            args["ordinality"] = True
    return parser.placed(TableFunctionCall(**args), mark)


def _plain_call(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    path = [parser.identifier("the name of a function")]
    while parser.take("."):
        path.append(parser.identifier("a name after the point"))
    return parser.call(mark, path)


def _unnest(parser: ExpressionParser, mark: int) -> exp.Expr:
    parser.need("UNNEST")
    args: dict[str, Any] = {"expressions": parser.bracketed(lambda: _collection(parser))}
    if parser.take("WITH", "ORDINALITY"):
        args["ordinality"] = True
    return parser.placed(CollectionTable(**args), mark)


def _collection(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    if parser.at("SELECT", "WITH", "VALUES"):
        return parser.placed(exp.Subquery(this=parser.query()), mark)
    return parser.expression()


def _aliased(parser: ExpressionParser, mark: int, table: exp.Expr) -> exp.Expr:
    if table.args.get("alias") is not None or isinstance(table, JoinedTables):
        return table
    parser.at(*_AFTER_TABLE)
    if parser.take("AS") or parser.at_name():
        table.set("alias", parse_table_alias(parser))
    if parser.at("TABLESAMPLE"):
        raise parser.error("Flink has no TABLESAMPLE: filter by RAND() < 0.1")
    return parser.placed(table, mark)


def parse_table_alias(parser: ExpressionParser) -> exp.Expr:
    """Parse an alias ``t (a, b)``."""
    mark = parser.index
    args: dict[str, Any] = {"this": parser.identifier("a name for the table")}
    if parser.at("("):
        args["columns"] = parser.bracketed(parser.identifier)
    return parser.placed(exp.TableAlias(**args), mark)


def parse_hints(parser: ExpressionParser) -> list[Hint]:
    """Parse hints ``/*+ NAME('key'='value'), OTHER(a, b) */``."""
    parser.need("/*+")
    hints = [_hint(parser)]
    while not parser.at("*/"):
        parser.take(",")
        hints.append(_hint(parser))
    parser.need("*/")
    return hints


def _hint(parser: ExpressionParser) -> Hint:
    mark = parser.index
    args: dict[str, Any] = {"this": parser.name("the name of a hint").upper()}
    if parser.take("("):
        if parser.peek().key == "=":
            args["options"] = parser.listed(lambda: _hint_option(parser))
        elif not parser.at(")"):
            args["expressions"] = parser.listed(lambda: _hint_item(parser))
        parser.need(")")
    return parser.placed(Hint(**args), mark)


def _hint_option(parser: ExpressionParser) -> exp.Expr:
    mark = parser.index
    key = _hint_text(parser, "a key")
    parser.need("=")
    value = _hint_text(parser, "a value in single quotes")
    return parser.placed(HintOption(this=key, expression=value), mark)


def _hint_text(parser: ExpressionParser, wanted: str) -> exp.Expr:
    mark = parser.index
    literal = parser.token.kind in (STRING, NUMBER)
    text = parser.advance().value if literal else parser.name(wanted)
    return parser.placed(exp.Literal(this=text, is_string=True), mark)


def _hint_item(parser: ExpressionParser) -> exp.Expr:
    if parser.token.kind in (STRING, NUMBER):
        literal = parse_literal(parser)
        assert literal is not None
        return literal
    if parser.token.kind == END:
        raise parser.unexpected("*/")
    mark = parser.index
    path = [parser.identifier("a name or a value")]
    while parser.take("."):
        path.append(parser.identifier("a name after the point"))
    return path[0] if len(path) == 1 else parser.column(mark, path)
