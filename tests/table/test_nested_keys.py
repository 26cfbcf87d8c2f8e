"""Rows, arrays and maps as keys of SQL: they are equal if what is in them is."""

from __future__ import annotations

from collections import Counter

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

VALUES = {
    "rows": ("ROW(1, 'a')", "ROW(1, 'a')", "ROW(2, CAST(NULL AS STRING))"),
    "maps": ("MAP['a', 1, 'b', 2]", "MAP['b', 2, 'a', 1]", "MAP['a', 2]"),
    "arrays of rows": ("ARRAY[ROW(1)]", "ARRAY[ROW(1)]", "ARRAY[ROW(2)]"),
    "arrays": ("ARRAY['x', 'y']", "ARRAY['x', 'y']", "CAST(NULL AS ARRAY<STRING>)"),
}
QUERIES = {
    "group": "SELECT COUNT(*) FROM t GROUP BY v",
    "two keys": "SELECT COUNT(*) FROM t GROUP BY v, 1 + 1",
    "distinct": "SELECT n FROM (SELECT DISTINCT v, n FROM t JOIN (SELECT v AS w, COUNT(*) AS n "
    "FROM t GROUP BY v) ON v IS NOT DISTINCT FROM w)",
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", VALUES)
def test_a_key_is_what_is_in_it(kind: str, query: str) -> None:
    with run_local(2, 1, epoch_records=2):
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.get_config().set("parallelism.default", "2")
        rows = " UNION ALL ".join(f"SELECT {value} AS v" for value in VALUES[kind])
        t_env.execute_sql(f"CREATE TEMPORARY VIEW t AS {rows}")
        found = [row[0] for row in t_env.execute_sql(QUERIES[query]).collect()]
    assert Counter(found) == {1: 1, 2: 1}
