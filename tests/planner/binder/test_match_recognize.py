"""MATCH_RECOGNIZE: what is bound, and what is refused, where in the text and why."""

from __future__ import annotations

import pytest
from tests.planner.query_tables import bound, optimized_plan

from millrace.common.errors import JobDefinitionError
from millrace.planner.binder.errors import SqlValidationError
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.planner.inference.refusals import require_supported
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.stream_rel_nodes import TimeAttribute

FALLING = "PATTERN (A B) DEFINE B AS B.price < A.price"


def query(clauses: str, order: str = "ORDER BY ts") -> str:
    return f"SELECT * FROM bid MATCH_RECOGNIZE (PARTITION BY auction {order} {clauses}) AS m"


def test_a_pattern_as_a_plan() -> None:
    text = query(
        "MEASURES LAST(B.price, 1) AS p, COUNT(*) AS n, SUM(AB.price) AS s, MATCH_ROWTIME() AS t "
        "AFTER MATCH SKIP TO LAST B PATTERN (A B{2,}? C? D) WITHIN INTERVAL '1' MINUTE "
        "SUBSET AB = (B, A) DEFINE B AS B.price < A.price AND LAST(price, 2) IS NULL, "
        "D AS item = 'x'"
    )
    match = optimized_plan(text).splitlines()[0]
    assert match == (
        "LogicalMatch(partitionBy=[auction], orderBy=[ts ASC], measures=[LAST(B.price, 1) AS p, "
        "COUNT(*.*) AS n, SUM(A|B.price) AS s, MATCH_ROWTIME() AS t], after=[SKIP TO LAST B], "
        "pattern=[(A B{2,}? C? D)], within=[60000 ms], define=[B AS AND(<(price, LAST(A.price, 0))"
        ", IS NULL(LAST(*.price, 2))), D AS =(item, 'x')])"
    )


def test_the_columns_of_matches() -> None:
    rows = bound(
        query(f"MEASURES A.price AS a, LAST(A.price, 1) AS b, auction AS c {FALLING}")
    ).row_type
    assert rows.names == ("auction", "a", "b", "c")
    assert [str(field.type) for field in rows][1:3] == ["DECIMAL(10, 2)"] * 2


def test_only_columns_that_are_read_are_kept() -> None:
    plan = optimized_plan(
        query(
            "MEASURES LAST(B.price, 1) AS p, SUM(A.price * 2) AS s PATTERN (A B+ C) DEFINE "
            "B AS LAST(B.item, 1) < B.item AND B.bidder = 1 AND COUNT(*) < 9",
            "ORDER BY ts, auction",
        )
    )
    assert "fields=[auction, bidder, price, item, ts]" in plan.splitlines()[-1]
    few = optimized_plan(query("MEASURES LAST(A.ts) AS p PATTERN (A B) DEFINE B AS price > 1"))
    assert "fields=[auction, price, ts]" in few.splitlines()[-1]
    assert "measures=[LAST(A.ts, 0) AS p]" in few


def test_time_attributes_of_matches() -> None:
    rows = bound(
        query(
            "MEASURES A.ts AS plain, MATCH_ROWTIME() AS r, MATCH_ROWTIME(ts) AS r2, "
            f"MATCH_PROCTIME() AS p {FALLING}"
        )
    )
    assert time_attributes(rows) == {
        2: TimeAttribute.ROWTIME,
        3: TimeAttribute.ROWTIME,
        4: TimeAttribute.PROCTIME,
    }


REFUSED = {
    FALLING: ("bid MATCH", "needs MEASURES"),
    f"MEASURES A.item AS i, A.price AS i {FALLING}": ("A.price AS i ", "defined: 'i'"),
    f"MEASURES A.auction AS auction {FALLING}": ("A.auction", "ambiguously defined"),
    f"MEASURES MATCH_ROWTIME(price) AS t {FALLING}": ("MATCH_ROWTIME", "the event time"),
    "MEASURES A.price AS p PATTERN (A (B C)+ D) DEFINE B AS TRUE": ("B C)", "Group patterns"),
    "MEASURES A.price AS p PATTERN (A (B | C)) DEFINE B AS TRUE": ("B | C", "branching"),
    "MEASURES A.price AS p PATTERN (A | B) DEFINE B AS TRUE": ("A | B", "branching"),
    "MEASURES A.price AS p PATTERN (PERMUTE(A, B)) DEFINE B AS TRUE": ("PERMUTE", "PERMUTE"),
    "MEASURES A.price AS p PATTERN (A {- B -} C) DEFINE B AS TRUE": ("{-", "'{-' '-}'"),
    "MEASURES A.price AS p PATTERN (^ A B) DEFINE B AS TRUE": ("A B)", "Anchors"),
    "MEASURES A.price AS p PATTERN (A B $) DEFINE B AS TRUE": ("A B $", "Anchors"),
    "MEASURES A.price AS p PATTERN (A B A) DEFINE B AS TRUE": ("A) ", "must be unique"),
    "MEASURES A.price AS p PATTERN (A B?? C) DEFINE B AS TRUE": ("B??", "Reluctant optional"),
    "MEASURES A.price AS p PATTERN (A B{0,1}? C) DEFINE B AS TRUE": ("B{0", "Reluctant optional"),
    "MEASURES A.price AS p PATTERN (A B+) DEFINE B AS TRUE": ("B+", "Greedy quantifiers"),
    "MEASURES A.price AS p PATTERN (A B{1,3}) DEFINE B AS TRUE": ("B{1", "Greedy quantifiers"),
    "MEASURES A.price AS p PATTERN (A? B*?) DEFINE B AS TRUE": ("A? B", "empty matches"),
    "MEASURES A.price AS p PATTERN (A+ B* C) DEFINE B AS TRUE": ("B*", "preceded by greedy"),
    "MEASURES A.price AS p ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE": (
        "bid MATCH",
        "All rows per match",
    ),
    f"MEASURES A.price AS p AFTER MATCH SKIP TO LAST BB {FALLING}": (
        "BB PATTERN",
        "Unknown pattern 'BB'; did you mean 'B'?",
    ),
    "MEASURES A.price AS p PATTERN (A B) WITHIN INTERVAL '1' MONTH DEFINE B AS TRUE": (
        "INTERVAL '1' MONTH",
        "millisecond resolution",
    ),
    "MEASURES A.price AS p PATTERN (A B) SUBSET A = (B) DEFINE B AS TRUE": (
        "A = (B)",
        "already been defined",
    ),
    "MEASURES A.price AS p PATTERN (A B) SUBSET U = (A, C) DEFINE B AS TRUE": (
        "C)",
        "Unknown pattern 'C'",
    ),
    "MEASURES A.price AS p AFTER MATCH SKIP TO LAST U PATTERN (A B) SUBSET U = (A) DEFINE A AS "
    "TRUE": ("U PATTERN", "'U' is a SUBSET"),
    "MEASURES A.price AS p PATTERN (A B) DEFINE DOWN AS TRUE": ("DOWN", "Unknown pattern 'DOWN'"),
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS TRUE, B AS FALSE": (
        "B AS FALSE",
        "already been defined",
    ),
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS B.price": ("B.price)", "type BOOLEAN"),
    f"MEASURES C.price AS p {FALLING}": ("C.price", "'C' is not a variable of PATTERN"),
    f"MEASURES A.prise AS p {FALLING}": ("A.prise", "did you mean 'price'?"),
    f"MEASURES PREV(A.price, 2) AS p {FALLING}": ("PREV", "physical offsets"),
    f"MEASURES NEXT(A.price) AS p {FALLING}": ("NEXT", "physical offsets"),
    f"MEASURES CLASSIFIER() AS p {FALLING}": ("CLASSIFIER", "not supported"),
    f"MEASURES MATCH_NUMBER() AS p {FALLING}": ("MATCH_NUMBER", "not supported"),
    f"MEASURES LAST(A.price * B.price) AS p {FALLING}": ("LAST", "Multiple pattern variables"),
    f"MEASURES SUM(A.price * B.price) AS p {FALLING}": ("SUM", "Multiple pattern variables"),
    f"MEASURES SUM(A.price * price) AS p {FALLING}": ("SUM", "Multiple pattern variables"),
    f"MEASURES SUM(1) AS p {FALLING}": ("SUM", "No pattern variable"),
    f"MEASURES LAST(LAST(A.price)) AS p {FALLING}": ("LAST(A", "Cannot nest"),
    f"MEASURES LAST(SUM(A.price)) AS p {FALLING}": ("SUM", "Cannot nest"),
    f"MEASURES LAST(A.price, -1) AS p {FALLING}": ("LAST", "literal number of rows"),
    f"MEASURES LAST(A.price, A.price) AS p {FALLING}": ("LAST", "literal number of rows"),
    f"MEASURES COUNT(DISTINCT A.price) AS p {FALLING}": ("COUNT", "DISTINCT"),
    f"MEASURES SUM(A.price) OVER () AS p {FALLING}": ("SUM", "OVER is not allowed"),
    f"MEASURES (SELECT 1) AS p {FALLING}": ("(SELECT", "query"),
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS B.price < FINAL LAST(A.price)": (
        "FINAL",
        "Cannot use RUNNING/FINAL in DEFINE",
    ),
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS MATCH_ROWTIME() > A.ts": (
        "MATCH_ROWTIME",
        "is not allowed in DEFINE",
    ),
}


@pytest.mark.parametrize("clauses", REFUSED)
def test_what_is_refused(clauses: str) -> None:
    text, reason = query(clauses), REFUSED[clauses][1]
    with pytest.raises(SqlValidationError) as refusal:
        bound(text)
    assert reason in refusal.value.reason
    assert refusal.value.position is not None
    assert text[refusal.value.position.column - 1 :].startswith(REFUSED[clauses][0])
    assert str(refusal.value).splitlines()[0].startswith("line 1, column ")


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("", "You must specify either rowtime or proctime for order by"),
        ("ORDER BY ts DESC", "must be ascending on time"),
        ("ORDER BY UPPER(item)", "takes columns"),
    ],
)
def test_an_order_that_is_refused(order: str, reason: str) -> None:
    with pytest.raises(SqlValidationError, match=reason):
        bound(query(f"MEASURES A.price AS p {FALLING}", order))


def require(text: str) -> None:
    rows = bound(text)
    require_supported(rows, ChangelogModes([rows]))


def test_the_order_is_of_time_and_rows_are_not_updated() -> None:
    require(query(f"MEASURES A.price AS p {FALLING}", "ORDER BY ts, price DESC"))
    require(query(f"MEASURES A.price AS p {FALLING}", "ORDER BY proc"))
    with pytest.raises(JobDefinitionError, match="'price' of MATCH_RECOGNIZE's ORDER BY is no"):
        require(query(f"MEASURES A.price AS p {FALLING}", "ORDER BY price, ts"))
    with pytest.raises(JobDefinitionError, match="Match doesn't support consuming update"):
        require(
            "SELECT * FROM changing MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES A.v AS v "
            "PATTERN (A B) DEFINE B AS B.v < A.v)"
        )
