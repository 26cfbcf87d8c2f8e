"""The shapes of trees that binder and rules build on: those of the table in the package."""

from __future__ import annotations

import pytest
from sqlglot import exp

from millrace.sql.dialect import nodes
from millrace.sql.dialect.nodes import FunctionCall, names_of
from millrace.sql.dialect.printer import to_sql
from millrace.sql.parser import parse_expression, parse_query


def grouped(text: str) -> str:
    """An expression with brackets around each operation of two."""

    def printed(node: exp.Expr) -> str:
        if isinstance(node, exp.Binary) and not isinstance(node, exp.Dot):
            return f"({printed(node.this)} {node.key} {printed(node.expression)})"
        if isinstance(node, exp.Not | exp.Neg):
            return f"({node.key} {printed(node.this)})"
        return to_sql(node)

    return printed(parse_expression(text))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a + b * c - d", "((a add (b mul c)) sub d)"),
        ("a || b + c", "((a dpipe b) add c)"),
        ("a * b || c / d", "(((a mul b) dpipe c) div d)"),
        ("-a * b", "((neg a) mul b)"),
        ("NOT a = b AND c OR d", "(((not (a eq b)) and c) or d)"),
        ("a OR b AND c", "(a or (b and c))"),
        ("a = b IS TRUE", "((a eq b) is TRUE)"),
        ("NOT a IS NULL", "(not (a is NULL))"),
        ("a < b + 1", "(a lt (b add 1))"),
        ("a IS NOT DISTINCT FROM b + 1", "(a nullsafeeq (b add 1))"),
        ("a NOT LIKE b || 'c'", "(not (a like (b dpipe 'c')))"),
        ("x = a LIKE b", "(x eq (a like b))"),
    ],
)
def test_operators_bind_as_calcites(text: str, meaning: str) -> None:
    """From OR up to signs; equals from left to right."""
    assert grouped(text) == meaning


def call(text: str) -> FunctionCall:
    found = parse_expression(text)
    assert isinstance(found, FunctionCall)
    return found


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("EXTRACT(YEARS FROM x)", "EXTRACT", ["YEAR", "x"]),
        ("FLOOR(x TO DAY)", "FLOOR", ["x", "DAY"]),
        ("timestampadd(MONTH, 1, x)", "timestampadd", ["MONTH", "1", "x"]),
        ("POSITION(a IN b FROM 2)", "POSITION", ["a", "b", "2"]),
        ("OVERLAY(a PLACING b FROM 1 FOR 2)", "OVERLAY", ["a", "b", "1", "2"]),
        ("SUBSTRING(a FROM 2)", "SUBSTRING", ["a", "2"]),
        ("SUBSTRING(a, 2, 3)", "SUBSTRING", ["a", "2", "3"]),
        ("TRIM(LEADING 'x' FROM y)", "TRIM", ["LEADING", "'x'", "y"]),
        ("TRIM(TRAILING FROM y)", "TRIM", ["TRAILING", "' '", "y"]),
        ("TRIM(y)", "TRIM", ["y"]),
        ("COUNT(*)", "COUNT", ["*"]),
        ("LOWER(x)", "LOWER", ["x"]),
        ("CURRENT_DATE", "CURRENT_DATE", []),
    ],
)
def test_calls_keep_name_and_arguments(text: str, name: str, arguments: list[str]) -> None:
    """No function is normalised: the binder looks up each by its name."""
    found = call(text)
    assert found.path == (name,)
    assert [to_sql(argument) for argument in found.arguments] == arguments


def test_calls_have_all_their_clauses() -> None:
    """One node holds what belongs to a call."""
    found = call("c.d.f(DISTINCT a, 1) IGNORE NULLS FILTER (WHERE b) OVER (ORDER BY t)")
    assert found.path == ("c", "d", "f")
    assert found.args["distinct"] is True
    assert found.args["null_treatment"] == "IGNORE"
    assert found.args["filter"].key == "column"
    assert isinstance(found.args["over"], nodes.WindowSpecification)
    assert isinstance(call("f(a) OVER w").args["over"], exp.Identifier)


def test_json_clauses_follow_the_arguments() -> None:
    """Each is a node of its own."""
    found = call("JSON_VALUE(j, '$' RETURNING INT DEFAULT 0 ON EMPTY ERROR ON ERROR)")
    returning, empty, error = found.arguments[2:]
    assert returning.args["on"] == "RETURNING"
    assert str(returning.this.logical_type) == "INT"
    assert (empty.args["this"], empty.args["on"], to_sql(empty.expression)) == (
        "DEFAULT",
        "EMPTY",
        "0",
    )
    assert (error.args["this"], error.args["on"]) == ("ERROR", "ERROR")


def test_names_of_any_length() -> None:
    """Whether they are tables or fields is the binder's to find."""
    assert names_of(parse_expression("a.b")) == ("a", "b")
    assert names_of(parse_expression("a.b.c.d.e.f")) == ("a", "b", "c", "d", "e", "f")
    access = parse_expression("a.b[1].c")
    assert names_of(access) is None
    assert isinstance(access, exp.Dot)
    assert isinstance(access.this, exp.Bracket)


def test_joins_are_one_tree() -> None:
    """Commas bind less than joins."""
    tree = parse_query("SELECT * FROM a, b LEFT JOIN c USING (k) JOIN d ON TRUE").args["from_"].this
    assert (tree.args["kind"], tree.this.name) == ("COMMA", "a")
    inner = tree.expression
    assert (inner.args["kind"], inner.expression.name) == ("INNER", "d")
    assert inner.this.args["kind"] == "LEFT"
    assert [name.name for name in inner.this.args["using"]] == ["k"]


def test_set_operations_by_precedence() -> None:
    """INTERSECT first, the others from left to right; ORDER BY belongs to the whole."""
    tree = parse_query("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4 ORDER BY 1")
    assert tree.key == "except"
    assert tree.args["order"] is not None
    assert (tree.this.key, tree.this.args["distinct"]) == ("union", False)
    assert tree.this.expression.key == "intersect"


def test_tables_with_time_and_hints() -> None:
    """Names, version, hints and alias of one node."""
    text = "SELECT * FROM c.d.t /*+ OPTIONS('k'='V') */ FOR SYSTEM_TIME AS OF o.p AS x (a)"
    table = parse_query(text).args["from_"].this
    assert (table.catalog, table.db, table.name, table.alias) == ("c", "d", "t", "x")
    assert table.args["hints"][0].options == {"k": "V"}
    assert names_of(table.args["version"].this) == ("o", "p")
    assert table.alias_column_names == ["a"]


def test_window_functions_are_calls_with_tables() -> None:
    """With TABLE(...) around them or without."""
    for text in ("TUMBLE(TABLE t, DESCRIPTOR(a), SIZE => 1)", "TABLE(f(x)) AS y"):
        table = parse_query(f"SELECT * FROM {text}").args["from_"].this
        assert isinstance(table, nodes.TableFunctionCall)
        assert isinstance(table.this, FunctionCall)
    assert table.args["wrapped"] is True
    assert table.alias == "y"


def test_patterns() -> None:
    """Alternatives of concatenations of quantified parts."""
    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (AFTER MATCH SKIP TO FIRST B PATTERN (A B{2,3}? | (C D)*) "
        "DEFINE A AS PREV(A.x) > 1)"
    )
    match = parse_query(text).args["from_"].this
    assert (match.args["after"].args["kind"], match.args["after"].name) == ("FIRST", "B")
    left, right = match.args["pattern"].expressions
    quantified = left.expressions[1]
    assert (quantified.args["least"], quantified.args["most"]) == (2, 3)
    assert quantified.args["reluctant"] is True
    assert (right.args["least"], right.args.get("most")) == (0, None)
    definition = match.args["define"][0]
    assert definition.alias == "A"
    assert names_of(definition.this.this.arguments[0]) == ("A", "x")
