"""Errors of queries that cannot run show where they were asked for."""

import pickle

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.planner.relational.unsupported_query import UnsupportedQueryError, errors_shown_at
from millrace.sql.position import StatementPosition, TextPosition

TEXT = "INSERT INTO s SELECT a FROM t"
SINK = StatementPosition(TEXT, TextPosition(1, 13, 12, 13))
SOURCE = StatementPosition(TEXT, TextPosition(1, 29, 28, 29))


def test_both_places_are_shown() -> None:
    error = UnsupportedQueryError("s takes inserts only", SINK, ("t gives updates", SOURCE))
    assert str(error) == (
        "line 1, column 13: s takes inserts only\n"
        "INSERT INTO s SELECT a FROM t\n"
        "            ^\n"
        "line 1, column 29: t gives updates\n"
        "INSERT INTO s SELECT a FROM t\n"
        "                            ^"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_without_a_statement_there_is_the_reason_alone() -> None:
    assert str(UnsupportedQueryError("s takes inserts only")) == "s takes inserts only"


def test_an_error_of_a_connector_gets_the_place() -> None:
    with pytest.raises(UnsupportedQueryError) as caught, errors_shown_at(SOURCE):
        raise JobDefinitionError("no such path")
    assert str(caught.value).startswith("line 1, column 29: no such path")


@pytest.mark.parametrize(
    ("place", "error"),
    [
        (None, JobDefinitionError("no such path")),
        (SOURCE, UnsupportedQueryError("of another place", SINK)),
        (SOURCE, ValueError("a bug")),
    ],
    ids=["no place", "a place of its own", "no error of a query"],
)
def test_what_stays_as_it_is(place: StatementPosition | None, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, errors_shown_at(place):
        raise error
    assert caught.value is error
