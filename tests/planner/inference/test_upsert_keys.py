"""By which columns the rows of a query are unique."""

import pytest
from query_tables import bound

from millrace.planner.inference.upsert_keys import upsert_keys
from millrace.planner.rules.optimizer import optimized

WINDOWED = "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
NUMBERED = (
    "(SELECT item, auction, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) AS n FROM bid)"
)
MOVING = "(SELECT *, ROW_NUMBER() OVER (PARTITION BY v ORDER BY ts, id) AS n FROM changing)"


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("SELECT a FROM t", set()),
        ("SELECT v, id FROM changing WHERE v > 1", {"id"}),
        ("SELECT v FROM changing", set()),
        ("SELECT b, COUNT(*) AS n FROM t GROUP BY b", {"b"}),
        ("SELECT COUNT(*) AS n FROM t GROUP BY b", set()),
        ("SELECT COUNT(*) AS n FROM t", {""}),
        ("SELECT DISTINCT a, b FROM t", {"a,b"}),
        (
            "SELECT window_start, item, COUNT(*) AS n "
            f"FROM {WINDOWED} GROUP BY window_start, window_end, item",
            {"window_start,item"},
        ),
        (f"SELECT * FROM {NUMBERED} WHERE n <= 3", {"item,n"}),
        (f"SELECT item, auction FROM {NUMBERED} WHERE n = 1", {"item"}),
        (f"SELECT id, v FROM {MOVING} WHERE n <= 3", set()),
        (f"SELECT id, v, n FROM {MOVING} WHERE n <= 3", {"v,n"}),
        ("SELECT c.id, r.currency FROM changing c JOIN rates r ON c.v = r.rate", {"id,currency"}),
        ("SELECT id FROM changing WHERE v IN (SELECT a FROM s)", {"id"}),
        ("SELECT a FROM t UNION SELECT a FROM s", {"a"}),
    ],
)
def test_the_keys_of_a_query(query: str, keys: set[str]) -> None:
    rows = optimized(bound(query))
    names = rows.row_type.names
    assert {",".join(names[i] for i in sorted(key)) for key in upsert_keys(rows)} == keys
