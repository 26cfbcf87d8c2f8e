"""STATE_TTL hints: of which inputs, and what is refused."""

import pytest
from query_tables import bound, plan

from millrace.planner.binder.errors import SqlValidationError

DAY = 86_400_000


def test_a_join_keeps_the_rows_of_each_table_for_its_own_time() -> None:
    join = "SELECT /*+ STATE_TTL('x' = '1 d', 's' = '12 h') */ x.a FROM t AS x JOIN s ON x.a = s.a"
    assert f"leftStateTtl=[{DAY} ms], rightStateTtl=[{DAY // 2} ms]" in plan(join)
    one = "SELECT /*+ STATE_TTL('s' = '1 d') */ t.a FROM t JOIN s ON t.a = s.a"
    assert f"=(a, a)], rightStateTtl=[{DAY} ms]" in plan(one)


def test_of_joined_tables_the_time_is_the_one_of_a_table_that_is_a_side_itself() -> None:
    text = (
        "SELECT /*+ STATE_TTL('x' = '1 s', 'z' = '3 s') */ x.a FROM s x JOIN s y ON x.a = y.a "
        "JOIN s z ON y.a = z.a"
    )
    lines = [line for line in plan(text).splitlines() if "Join" in line]
    outer, inner = (line.partition("rightStateTtl")[::2] for line in lines)
    assert "leftStateTtl" not in outer[0]
    assert outer[1] == "=[3000 ms])"
    assert "leftStateTtl=[1000 ms]" in inner[0] + inner[1]


def test_an_aggregation_keeps_groups_for_the_time_of_its_table() -> None:
    shown = plan("SELECT /*+ STATE_TTL('t' = '2 min') */ b, COUNT(*) FROM t GROUP BY b")
    assert "stateTtl=[120000 ms]" in shown
    joined = plan(
        "SELECT /*+ STATE_TTL('t' = '2 min') */ COUNT(*) FROM t JOIN s ON t.a = s.a GROUP BY t.b"
    )
    assert " stateTtl" not in joined


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        ("STATE_TTL('u' = '1 d')", "there is no table 'u' in FROM"),
        ("STATE_TTL('t' = 'soon')", "STATE_TTL of 't'"),
        ("STATE_TTL(t)", "is written"),
    ],
)
def test_what_it_cannot_mean_is_refused(hint: str, reason: str) -> None:
    with pytest.raises(SqlValidationError, match=reason):
        bound(f"SELECT /*+ {hint} */ b FROM t")
