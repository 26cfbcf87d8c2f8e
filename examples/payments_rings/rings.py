"""Rings in payments: accounts through which money goes in a circle, and accounts that all pay each
other.

``millrace run rings.py`` reads ``transfers.csv`` in the current directory and prints alerts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millrace.common import Row, Types
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.graph.streams import GraphStream
from millrace.table import StreamTableEnvironment, Table

FILE = "transfers.csv"
MERCHANT = "M"
TRIANGLES = 3
"""Triangles of an account from which on its community is suspicious."""


def between_accounts(payer: str, payee: str, value: Any) -> bool:
    """Payments to merchants connect everybody, and those to oneself nobody: they mean nothing."""
    return payer != payee and not payer.startswith(MERCHANT) and not payee.startswith(MERCHANT)


def ends(transfer: Any) -> tuple[str, str]:
    """The edge of a transfer."""
    return transfer.payer, transfer.payee


def alerts(payments: DataStream[Any]) -> Table:
    """Rings and communities in payments; a row comes with the transfer that closes its ring."""
    t_env = StreamTableEnvironment.create(payments.get_execution_environment())
    pairs = payments.map(ends, Types.TUPLE([Types.STRING(), Types.STRING()]))
    graph = GraphStream(pairs).filter_edges(between_accounts)
    for name, result in (
        ("members", graph.components()),
        ("triangles", graph.triangles()),
        ("degrees", graph.undirected().distinct().out_degrees()),
    ):
        t_env.create_temporary_view(name, t_env.from_changelog_stream(result))
    return t_env.sql_query(ALERTS)


def read(env: StreamExecutionEnvironment, path: Path) -> DataStream[Row]:
    """The transfers in a file."""
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(TRANSFERS.format(path=path))
    return t_env.to_data_stream(t_env.from_path("transfers"))


TRANSFERS = """
CREATE TABLE transfers (payer STRING, payee STRING, cents BIGINT, `time` BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
ALERTS = f"""
SELECT m.component AS ring, COUNT(*) AS accounts, SUM(COALESCE(t.triangles, 0)) / 3 AS triangles,
    CASE WHEN MAX(COALESCE(t.triangles, 0)) >= {TRIANGLES} THEN 'community'
        ELSE 'ring' END AS kind
FROM members m LEFT JOIN triangles t ON m.vertex = t.vertex
    JOIN degrees d ON m.vertex = d.vertex
GROUP BY m.component
HAVING COUNT(*) >= 3 AND SUM(d.degree) >= 2 * COUNT(*)
"""
"""A component has a ring if at least as many pairs of accounts pay each other as it has accounts.
A degree is the number of such pairs of an account, so their sum counts each pair twice."""

if __name__ == "__main__":
    payments = read(StreamExecutionEnvironment.get_execution_environment(), Path.cwd() / FILE)
    print(alerts(payments).to_pandas().sort_values("ring").to_string(index=False))
