"""Hints: one that is not known, or whose table is not in the query, is refused."""

import pytest
from query_tables import bound

from millrace.planner.binder.errors import SqlValidationError


@pytest.mark.parametrize(
    "text",
    [
        "SELECT /*+ BROADCAST(x) */ x.a FROM t AS x JOIN s ON x.a = s.a",
        "SELECT /*+ LOOKUP('table' = 's', 'async' = 'true') */ t.a FROM t JOIN s ON t.a = s.a",
        "SELECT /*+ SHUFFLE_HASH('t', 's') */ t.a FROM t JOIN s ON t.a = s.a",
        "SELECT a FROM t /*+ OPTIONS('scan' = 'x') */",
    ],
)
def test_what_is_known_is_taken(text: str) -> None:
    bound(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT /*+ BROADCAST(y) */ t.a FROM t", "BROADCAST: there is no table 'y' in FROM"),
        ("SELECT /*+ LOOKUP('table' = 'tt') */ a FROM t", "'tt' in FROM; did you mean 't'"),
        ("SELECT /*+ BROADCST(t) */ a FROM t", "'BROADCST'; did you mean 'BROADCAST'"),
        ("SELECT a FROM t /*+ OPTION('a' = 'b') */", "'OPTION'; did you mean 'OPTIONS'"),
        ("SELECT a FROM t /*+ BROADCAST(t) */", "there is no hint called 'BROADCAST'"),
    ],
)
def test_what_is_not_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SqlValidationError, match=reason):
        bound(text)
