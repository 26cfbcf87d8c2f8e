"""Rows of windows that UNION ALL joins are rows of windows if the windows are the same."""

from __future__ import annotations

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment

TABLE = """
    CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'datagen', 'number-of-rows' = '1')
"""
SUMS = """
    SELECT window_start, window_end, {key} AS k, SUM(v) AS s
    FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '{minutes}' MINUTE)
    GROUP BY window_start, window_end {more}
"""
FIVE = SUMS.format(key="k", minutes=5, more=", k")
ALL_IN_FIVE = SUMS.format(key="'all'", minutes=5, more="")
ALL_IN_TEN = SUMS.format(key="'all'", minutes=10, more="")
ROLLUP = SUMS.format(key="k", minutes=5, more=", ROLLUP (k)")


@pytest.mark.parametrize(
    ("rows", "operator"),
    [
        pytest.param(FIVE, "WindowRank", id="one aggregate"),
        pytest.param(f"{FIVE} UNION ALL {ALL_IN_FIVE}", "WindowRank", id="same windows"),
        pytest.param(ROLLUP, "WindowRank", id="rollup"),
        pytest.param(f"{FIVE} UNION ALL {ALL_IN_TEN}", "Rank", id="other sizes"),
        pytest.param(
            f"{FIVE} UNION ALL SELECT window_end, window_start, k, s FROM ({ALL_IN_FIVE})",
            "Rank",
            id="other columns",
        ),
    ],
)
def test_top_n_of_windows(rows: str, operator: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(TABLE)
    plan = t_env.explain_sql(f"""
        SELECT * FROM (
            SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end ORDER BY s DESC) AS n
            FROM ({rows})
        ) WHERE n <= 3
    """)
    assert f"+- {operator}(partitionBy=[window_start, window_end]" in plan
