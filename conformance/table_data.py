"""The tables that programs of the Table API share, made of the data of the SQL programs."""

from __future__ import annotations

from typing import Any

from conformance.sql_program import DATA

_COLUMNS = {
    "orders": ("id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2)", ""),
    "customers": ("name STRING, city STRING, age INT", ", 'csv.null-literal' = ''"),
    "bids": (
        "id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),"
        " WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
        "",
    ),
    "rates": ("item STRING, rate DECIMAL(4, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts", ""),
    "shipments": (
        "id INT, bid INT, carrier STRING, ts TIMESTAMP(3),"
        " WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
        "",
    ),
}
_PEOPLE = (
    "id INT, name STRING, tags ARRAY<STRING>, scores MAP<STRING, INT>,"
    " home ROW<street STRING, zip INT>"
)


def table(t_env: Any, name: str) -> Any:
    """The table of that name: orders, customers, bids, rates, shipments or people."""
    if name not in t_env.list_tables():
        columns, more = _COLUMNS.get(name, (_PEOPLE, ""))
        kind = "json" if name == "people" else "csv"
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem',"
            f" 'path' = '{DATA}/{name}.{kind}', 'format' = '{kind}'{more})"
        )
    return t_env.from_path(name)
