"""The law of streaming SQL for MATCH_RECOGNIZE: random patterns over random tables, in random
epochs and subtasks, with faults, rescaling and savepoints in between, give the matches of a naive
model.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from match_model import CLAUSES, MatchClauses, matches_of
from query_grammar import COLUMNS, ROWS
from query_histories import HISTORIES, TABLES, History, Result, batch, streamed, table_of
from tests.table import lookup_tables

from millrace.table.connectors.registry import register_factory


@pytest.fixture(autouse=True)
def lookups() -> None:
    register_factory(lookup_tables.LookupFactory())


def assert_matches(found: Result, expected: list[set[tuple[Any, ...]]]) -> None:
    """Each match is one of those that the model leaves open, and no match is missing or twice."""
    assert sum(found.values()) == len(expected), (found, expected)
    first = {next(iter(ways))[:2]: ways for ways in expected}
    for match, count in found.items():
        assert count == 1
        assert match in first[match[:2]], (match, first[match[:2]])


def assert_law(clauses: MatchClauses, t: list[Any], history: History) -> None:
    TABLES.update(t=table_of(t), u=table_of([]))
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in t]
    expected = matches_of(clauses, rows)
    query = clauses.query("tt")
    assert_matches(batch(query, history), expected)
    assert_matches(streamed(query, history), expected)


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=SLOW)
@given(clauses=CLAUSES, t=ROWS, history=HISTORIES)
def test_random_matches(clauses: MatchClauses, t: list[Any], history: History) -> None:
    assert_law(clauses, t, history)


@pytest.mark.torture
@settings(max_examples=3_000, deadline=None, derandomize=False, suppress_health_check=SLOW)
@given(clauses=CLAUSES, t=ROWS, history=HISTORIES)
def test_many_random_matches(clauses: MatchClauses, t: list[Any], history: History) -> None:
    assert_law(clauses, t, history)
