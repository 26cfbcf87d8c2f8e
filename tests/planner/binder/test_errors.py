"""Errors of queries survive the way from one process to another."""

import pickle

import pytest
from query_tables import bound

from millrace.planner.binder.errors import SqlValidationError
from millrace.sql.position import TextPosition


def test_it_is_the_same_after_pickling() -> None:
    error = SqlValidationError("no such column", "SELECT x", TextPosition(1, 8, 7, 8))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(error) == "line 1, column 8: no such column\nSELECT x\n       ^"


def test_two_queries_of_one_name_in_with_are_refused() -> None:
    with pytest.raises(SqlValidationError, match="column 24: WITH names 'w' twice"):
        bound("WITH w AS (SELECT 1),  w AS (SELECT 2) SELECT * FROM w")
    bound("WITH w AS (SELECT 1) SELECT * FROM (WITH w AS (SELECT 2) SELECT * FROM w)")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("LISTAGG(s) WITHIN GROUP (ORDER BY s)", "column 42: LISTAGG takes no ORDER BY"),
        ("ARRAY_AGG(s ORDER BY s)", "column 29: ARRAY_AGG takes no ORDER BY"),
        ("COUNT(s) IGNORE NULLS", "column 8: COUNT does not take IGNORE NULLS"),
        ("LAST_VALUE(s) RESPECT NULLS", "column 8: LAST_VALUE does not take RESPECT NULLS"),
    ],
)
def test_what_an_aggregate_would_not_heed_is_refused(call: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        bound(f"SELECT {call} FROM (VALUES ('a')) AS t(s)")
    bound("SELECT ARRAY_AGG(s IGNORE NULLS), FIRST_VALUE(s IGNORE NULLS) FROM (VALUES 'a') AS t(s)")


@pytest.mark.parametrize("bound_of_frame", ["-1 PRECEDING", "-2 FOLLOWING"])
def test_a_bound_of_over_is_not_negative(bound_of_frame: str) -> None:
    frame = f"ROWS BETWEEN {bound_of_frame} AND UNBOUNDED FOLLOWING"
    with pytest.raises(SqlValidationError, match="a bound of ROWS cannot be negative"):
        bound(f"SELECT COUNT(*) OVER (ORDER BY a {frame}) FROM t")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT x.a FROM t AS o", "column 'x.a': there is no table 'x' in FROM"),
        ("SELECT ord.a FROM t AS orders", "no table 'ord' in FROM; did you mean 'orders'"),
        ("SELECT t.aa FROM t", "column 't.aa' is not in any table"),
        ("SELECT a FROM t AS o WHERE EXISTS (SELECT 1 FROM s WHERE o.zz = s.a)", "'o.zz' is not"),
    ],
)
def test_a_table_that_is_not_in_from_is_told_as_one(query: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        bound(query)
