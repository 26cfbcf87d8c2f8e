"""How many rows and changes a second the source of PostgreSQL's changes reads."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

from bar import Data, Row, Section
from job_process import BENCHMARKS, run_ours

sys.path.insert(0, str(BENCHMARKS.parent / "tests" / "services"))

from postgresql import PostgreSQL

TITLE = "Changes of PostgreSQL"
ROWS = 1_000_000
_TABLE = """
create table orders (id int primary key, customer text, amount numeric(10, 2), note text,
                     at timestamptz default now());
alter table orders replica identity full
"""
_FILL = (
    "insert into orders select i, 'customer ' || i % 1000, i * 0.01, repeat('n', 100) "
    "from generate_series(1, {}) i"
)


def measure(quick: bool) -> Data:
    rows = ROWS // 20 if quick else ROWS
    with (
        tempfile.TemporaryDirectory(prefix="millrace-postgresql-") as directory,
        PostgreSQL(Path(directory) / "server") as server,
        mock.patch.dict(os.environ, server.environment),
    ):
        server.run_sql(_TABLE)
        server.run_sql(_FILL.format(rows))
        read = run_ours("postgres_changes.py", "rows", "public.orders", "initial")
        server.run_sql("create publication changes for table orders")
        server.run_sql("select pg_create_logical_replication_slot('changes', 'pgoutput')")
        for first in range(0, rows // 2, 1_000):
            server.run_sql(
                f"update orders set amount = amount + 1 where id > {first} and id <= {first} + 1000"
            )
        changed = run_ours("postgres_changes.py", "changes", "public.orders", "committed")
    return {"read": read, "changed": changed}


def section(data: Data) -> Section:
    read, changed = (data[name]["records"] / data[name]["seconds"] for name in ("read", "changed"))
    rows = [
        Row("PostgreSQL tables, as they are first read", "none", f"{read:,.0f} rows/s", None),
        Row("PostgreSQL changes, from the log", "none", f"{changed:,.0f} rows/s", None),
    ]
    text = (
        f"{data['read']['records']:,} rows of five columns (about 150 bytes) read by two subtasks "
        f"in {data['read']['seconds']:.1f} s; then {data['changed']['records']:,} rows of changes "
        "(an update gives two: before and after) in transactions of 1,000 updates read by one in "
        f"{data['changed']['seconds']:.1f} s. The server runs on the same two cores."
    )
    return Section(rows, [text])
