"""Queries as bound trees: names, types and structure, before any rule."""

from pathlib import Path

import pytest
from query_tables import Tables, bound, plan, snapshots

from millrace.common.types.logical.logical_type import BigIntType, RowType, VarCharType
from millrace.planner.binder.errors import SqlValidationError
from millrace.planner.binder.query import bind_expression
from millrace.sql.parser import parse_expression

PLANS = snapshots(Path(__file__).parent / "bound_plans.txt")


@pytest.mark.parametrize(("query", "expected"), PLANS, ids=[query[:60] for query, _ in PLANS])
def test_the_bound_tree(query: str, expected: str) -> None:
    assert plan(query) == expected


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("SELECT a, b FROM t", "`a` INT, `b` STRING"),
        (
            "SELECT 1, 'ab', 1.50, 1E0",
            "INT NOT NULL CHAR(2) NOT NULL DECIMAL(3, 2) NOT NULL DOUBLE NOT NULL",
        ),
        ("SELECT COUNT(*), SUM(a), SUM(c) FROM t", "BIGINT NOT NULL INT BIGINT"),
        ("SELECT s.a FROM t LEFT JOIN s ON t.a = s.a", "`a` INT"),
        ("SELECT s.a FROM t JOIN s ON t.a = s.a", "`a` INT NOT NULL"),
        ("SELECT r.x, r.y.z FROM t", "`x` INT, `z` STRING"),
        ("SELECT a FROM t UNION ALL SELECT d FROM s", "`a` DOUBLE"),
        ("SELECT a FROM s GROUP BY ROLLUP (a)", "`a` INT"),
        (
            "SELECT TIMESTAMP '2020-01-01 00:00:00.123', DATE '2020-01-01', INTERVAL '1' DAY",
            "TIMESTAMP(3) NOT NULL DATE NOT NULL INTERVAL DAY(2) NOT NULL",
        ),
    ],
)
def test_the_types_of_columns(query: str, types: str) -> None:
    fields = bound(query).row_type.fields
    named = ", ".join(map(str, fields))
    assert types in (named, " ".join(str(field.type) for field in fields))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT a, a, a + 1, b AS a FROM t", ("a", "a0", "EXPR$2", "a1")),
        (
            "SELECT t.*, s.* FROM t JOIN s ON t.a = s.a",
            ("a", "b", "c", "r", "tags", "m", "a0", "b0", "d"),
        ),
        ("SELECT * FROM t NATURAL JOIN s", ("a", "b", "c", "r", "tags", "m", "d")),
        ("SELECT x.* FROM (SELECT r.* FROM t) AS x (p, q)", ("p", "q")),
        ("WITH w (p) AS (SELECT a FROM t) SELECT * FROM w", ("p",)),
    ],
)
def test_the_names_of_columns(query: str, names: tuple[str, ...]) -> None:
    assert bound(query).row_type.names == names


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT bidder FROM bids",
            "line 1, column 20: there is no table or view called 'bids'; did you mean 'bid'?",
        ),
        ("SELECT bider FROM bid", "column 'bider' is not in any table; did you mean 'bidder'?"),
        ("SELECT A FROM t", "column 'A' is not in any table; did you mean 'a'?"),
        (
            "SELECT a FROM t JOIN s ON t.a = s.a",
            "column 'a' is ambiguous: write the table's name before the column",
        ),
        (
            "SELECT COLESCE(a, 1) FROM t",
            "there is no function called 'COLESCE'; did you mean 'COALESCE'?",
        ),
        ("SELECT b + 1 FROM t", "+ does not take (STRING, INT NOT NULL)"),
        ("SELECT a, COUNT(*) FROM t GROUP BY b", "expression 'a' is not being grouped"),
        ("SELECT a FROM t WHERE SUM(a) > 1", "the aggregate function SUM is not allowed in WHERE"),
        ("SELECT a FROM t WHERE a", "WHERE needs a condition of type BOOLEAN, not INT"),
        (
            "SELECT COUNT(*) FILTER (WHERE a) FROM t",
            "FILTER needs a condition of type BOOLEAN, not INT",
        ),
        ("SELECT r.q FROM t", "has no field 'q'"),
        ("SELECT a FROM t UNION ALL SELECT a, b FROM t", "the queries have 1 and 2 columns"),
        ("SELECT a FROM t UNION ALL SELECT r FROM t", "has no common type of INT and ROW"),
        ("VALUES (1), (1, 2)", "the rows of VALUES have different numbers of columns"),
        (
            "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(a), INTERVAL '1' HOUR)",
            "requires a time attribute, but 'a' is of type INT",
        ),
        (
            "SELECT * FROM TUMBLE(TABLE bid, DESCRIPTOR(tz), INTERVAL '1' HOUR)",
            "column 'tz' is not in the table; did you mean 'ts'?",
        ),
        (
            "SELECT a FROM t WHERE a IN (SELECT a, b FROM s)",
            "IN compares 1 values with a query of 2 columns",
        ),
        ("SELECT DATE '2020-13-01'", "DATE '2020-13-01': month must be in 1..12"),
        ("SELECT x.* FROM t", "there is no table 'x' in FROM"),
        ("SELECT a FROM t ORDER BY 3", "ORDER BY 3: the number of columns is 1"),
        (
            "SELECT a AS e, b AS e FROM s QUALIFY ROW_NUMBER() OVER (ORDER BY e) = 1",
            "the column 'e' is ambiguous: SELECT has several of that name",
        ),
    ],
)
def test_what_is_refused(query: str, message: str) -> None:
    with pytest.raises(SqlValidationError) as refusal:
        bound(query)
    assert message in str(refusal.value)


def test_only_columns_that_are_not_shown_are_left_out_after_sorting() -> None:
    row = bound("SELECT a AS `$sort1` FROM t ORDER BY a + 1").row_type
    assert row.names == ("$sort1",)


def test_an_error_shows_the_place() -> None:
    with pytest.raises(SqlValidationError) as refusal:
        bound("SELECT a,\n  bb FROM t")
    assert str(refusal.value).splitlines()[1:] == ["  bb FROM t", "  ^^"]


def test_an_expression_over_a_row() -> None:
    row = RowType.of(("id", BigIntType()), ("name", VarCharType()))
    made = bind_expression(parse_expression("id + 1"), row, Tables())
    assert str(made) == "+(id, CAST(1 AS BIGINT NOT NULL))"
    assert made.output_type == BigIntType()
