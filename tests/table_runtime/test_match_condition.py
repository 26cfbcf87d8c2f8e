"""Conditions give what the evaluator of expressions gives, however they are computed."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from tests.planner.query_tables import PATH, table
from tests.table_runtime.subtask import Subtask, columns

from millrace.expressions.session_settings import SessionSettings
from millrace.planner.binder.query import bind_query
from millrace.planner.execution.match import match_spec
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import Match
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.sql.parser import parse_query
from millrace.table_runtime.match import MatchOperator

TYPES = table(
    "typed",
    "n INT, i INT, b BIGINT, d DOUBLE, f FLOAT, m DECIMAL(10, 2), s STRING, t TIMESTAMP(3), "
    "z TIMESTAMP_LTZ(3), dt DATE, clock TIME(0), flag BOOLEAN, r ROW<x INT>, ts TIMESTAMP(3)",
    "ts",
)
START = datetime(2024, 1, 1)


class Tables:
    current_catalog, current_database = PATH

    def resolve_table(self, name: Any) -> Any:
        return TYPES

    def resolve_function(self, name: Any) -> None:
        return None

    def resolve_model(self, name: Any) -> None:
        return None

    def names(self, kind: Any) -> list[str]:
        return []


def row(n: int, **given: Any) -> tuple[Any, ...]:
    at = START + timedelta(seconds=n)
    values: dict[str, Any] = {
        "n": n,
        "i": n % 3,
        "b": 2**62 + n,
        "d": n / 4,
        "f": n / 2,
        "m": Decimal(n) / 4,
        "s": "xyz"[n % 3],
        "t": at,
        "z": at,
        "dt": at.date(),
        "clock": at.time(),
        "flag": n % 2 == 0,
        "r": {"x": n},
        "ts": at,
    }
    return tuple({**values, **given}.values())


def found(clauses: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    text = f"SELECT * FROM typed MATCH_RECOGNIZE (ORDER BY ts {clauses})"
    node: RelNode = bind_query(parse_query(text), Tables(), text)
    while not isinstance(node, Match):
        (node,) = node.inputs
    subtask = Subtask(partial(MatchOperator, match_spec(node, SessionSettings())))
    batch = columns(node.input.row_type, [("+I", each) for each in rows])
    subtask.epoch([batch], MAX_WATERMARK)
    return [each for _, each in subtask.changes]


def pairs(condition: str, rows: list[tuple[Any, ...]]) -> list[tuple[int, int]]:
    """The numbers of neighbours, of which the second satisfies the condition of B."""
    clauses = (
        "MEASURES A.n AS a, B.n AS b AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) "
        f"DEFINE B AS {condition}"
    )
    return found(clauses, rows)


ROWS = [row(n) for n in range(7)]
ALL = [(n, n + 1) for n in range(6)]
CONDITIONS = {
    "B.n > A.n": ALL,
    "B.i < A.i": [(2, 3), (5, 6)],
    "B.b - A.b = 1": ALL,
    "B.b + A.b < 0": ALL,  # wraps, as in Java
    "B.b * A.b >= 0 OR TRUE": ALL,
    "B.d - A.d = 0.25e0": ALL,
    "B.d * A.d > 1e0": [(4, 5), (5, 6)],
    "B.f > A.f": ALL,
    "B.f + A.f > 4": [(n, n + 1) for n in range(6) if 2 * n + 1 > 8],
    "B.m > A.m": ALL,
    "B.m + A.m > 1.5": [(n, n + 1) for n in range(6) if (2 * n + 1) / 4 > 1.5],
    "B.m > A.d": ALL,
    "B.n > A.d": ALL,
    "B.s > A.s": [(0, 1), (1, 2), (3, 4), (4, 5)],
    "A.s || B.s = 'xy'": [(0, 1), (3, 4)],
    "CHAR_LENGTH(A.s) = B.i": [(0, 1), (3, 4)],
    "B.t > A.t AND B.z > A.z AND B.clock > A.clock AND B.dt = A.dt": ALL,
    "B.t - INTERVAL '1' SECOND = A.t": ALL,
    "TIMESTAMPDIFF(SECOND, A.t, B.t) = 1": ALL,
    "A.flag AND NOT B.flag": [(0, 1), (2, 3), (4, 5)],
    "(A.flag AND B.n > 3) IS TRUE": [(4, 5)],
    "(A.flag AND B.n > 3) IS FALSE": [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6)],
    "(A.flag AND B.n > 3) IS NOT TRUE": [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6)],
    "CASE WHEN A.i = 0 THEN B.n > 3 ELSE B.n < 3 END": [(1, 2), (3, 4)],
    "B.r.x = A.r.x + 1": ALL,
    "B.n IN (A.n + 1, 7)": ALL,
    "B.n BETWEEN A.n AND A.n + 1": ALL,
    "COALESCE(LAST(B.n, 1), A.n) = B.n - 1": ALL,
    "LAST(B.n, 1) IS NULL": ALL,
    "LAST(n, 1) = A.n AND FIRST(n) = A.n AND FIRST(n, 1) = B.n": ALL,
    "FIRST(n, 2) IS NULL AND LAST(n, 2) IS NULL": ALL,
    "A.i > 0 AND 10 / A.i > 3": [(n, n + 1) for n in range(6) if n % 3],
    "SUM(n) = A.n + B.n AND SUM(B.n) = B.n AND SUM(A.n) = A.n": ALL,
    "AVG(n) = A.n": ALL,  # cut towards zero
    "AVG(d) * 2 = A.d + B.d": ALL,
    "SUM(b) < 0": ALL,
    "SUM(m) = A.m + B.m AND AVG(m) * 2 = A.m + B.m": ALL,
    "MIN(s) = 'x'": [(0, 1), (2, 3), (3, 4), (5, 6)],
    "MAX(d) = B.d AND MIN(f) = A.f AND MAX(t) = B.t AND MIN(m) = A.m": ALL,
    "COUNT(*) = 2 AND COUNT(A.*) = 1 AND COUNT(B.n) = 1": ALL,
    "SUM(n * 2 + 1) = 2 * (A.n + B.n) + 2": ALL,
    "STDDEV_POP(d) = 0.125e0": ALL,
    "FIRST_VALUE(n) = A.n AND LAST_VALUE(n) = B.n": ALL,
    "MOD(B.n, 2) = 1 AND B.n > A.n": [(0, 1), (2, 3), (4, 5)],
    "NULLIF(A.n, 2) + 1 = B.n": [(n, n + 1) for n in range(6) if n != 2],
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_of_two_rows(condition: str) -> None:
    assert pairs(condition, ROWS) == CONDITIONS[condition]


def test_an_error_of_a_condition_tells_of_which() -> None:
    with pytest.raises(Exception, match=r"by zero") as error:
        pairs("10 / A.i > B.i", ROWS)
    assert any("condition of 'B'" in note for note in error.value.__notes__)


def test_nulls_are_not_true() -> None:
    rows = [row(n, i=None if n % 2 else n, s=None, d=math.nan) for n in range(4)]
    assert pairs("B.i > A.i OR B.i <= A.i", rows) == []
    assert pairs("NOT (B.s = A.s)", rows) == []
    assert pairs("SUM(i) = A.i", rows) == [(0, 1), (2, 3)]
    assert pairs("MAX(s) IS NULL AND COUNT(s) = 0 AND SUM(B.i) IS NULL", rows) == [(0, 1), (2, 3)]
    assert pairs("B.d = A.d", rows) == []


def test_measures_of_every_type() -> None:
    (made,) = found(
        "MEASURES LAST(A.b) AS b, FIRST(A.d) AS d, A.f AS f, A.m AS m, A.s AS s, A.t AS t, A.z AS "
        "z, A.dt AS dy, A.clock AS c, A.flag AS g, A.r AS r,A.r.x AS x, LAST(A.n * 2 + A.i, 1) AS e"
        ", AVG(A.m) AS am, SUM(A.n) + COUNT(*) AS sc, B.n IS NULL AS nb, 'c' AS k, FINAL LAST(n) "
        "AS l, SUM(U.n) AS su, LAST(U.n) AS lu, MAX(10 / (A.n + 1)) AS q, MIN(A.t) AS mt"
        " PATTERN (A{3} B? C) SUBSET U = (C, B) DEFINE B AS FALSE, C AS C.n = 3",
        ROWS[:4],
    )
    last = dict(zip([column.name for column in TYPES.columns], row(2), strict=True))
    names = ["f", "m", "s", "t", "z", "dt", "clock", "flag", "r"]
    assert made[:2] == (last["b"], 0.0)
    assert [
        made[2 + i].replace(tzinfo=None) if n == "z" else made[2 + i] for i, n in enumerate(names)
    ] == [last[name] for name in names]
    assert made[11:] == (2, 3, Decimal("0.250000"), 7, True, "c", 3, 3, 3, 10, START)
