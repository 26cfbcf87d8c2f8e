"""A table of prices to look for patterns in, and what queries over it give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

Price = tuple[str, str, float | int, int]
"""Symbol, time, price, tax."""


def matches(
    directory: Path,
    prices: list[Price],
    query: str,
    price: str = "BIGINT",
    parallelism: int = 1,
    epoch: int | None = None,
    streaming: bool = True,
) -> list[tuple[Any, ...]]:
    """The rows of a query over ``Ticker``.

    Args:
        price: the type of its column.
        epoch: how many rows an epoch has.
    """
    (directory / "ticker.csv").write_text(
        "".join(f"{symbol},{time},{value},{tax}\n" for symbol, time, value, tax in prices)
    )
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    with run_local(parallelism, 1, epoch_records=epoch):
        t_env = TableEnvironment.create(mode.build())
        t_env.get_config().set("parallelism.default", str(parallelism))
        t_env.execute_sql(
            f"CREATE TABLE Ticker (symbol STRING, rowtime TIMESTAMP(3), price {price}, tax BIGINT, "
            "WATERMARK FOR rowtime AS rowtime - INTERVAL '2' SECOND) WITH ("
            f"'connector' = 'filesystem', 'path' = '{directory}/ticker.csv', 'format' = 'csv')"
        )
        return [tuple(row) for row in t_env.execute_sql(query).collect()]


def of_ticker(clauses: str) -> str:
    """A query for the matches of a pattern in each symbol's prices."""
    return (
        "SELECT * FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY rowtime "
        f"{clauses}) AS MR"
    )
