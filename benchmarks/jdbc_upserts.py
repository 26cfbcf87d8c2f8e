"""How many rows a second are upserted into a table of PostgreSQL, exactly once, on two cores with
the server beside the job."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bar import Data, Row, Section
from job_process import BENCHMARKS, MeasurementError, run_ours

sys.path.append(str(BENCHMARKS.parent / "tests" / "services"))

from postgresql import PostgreSQL

TITLE = "PostgreSQL: upserts"
BAR = 20_000
ROWS = 1_500_000
_TABLE = "CREATE TABLE totals (customer bigint PRIMARY KEY, name text, cents bigint, ratio float8)"


def measure(quick: bool) -> Data:
    rows = ROWS // 10 if quick else ROWS
    with (
        tempfile.TemporaryDirectory(prefix="millrace-postgresql-") as directory,
        PostgreSQL(Path(directory)) as server,
    ):
        return {
            guarantee: _run(server, guarantee, rows)
            for guarantee in ("exactly-once", "at-least-once")
        }


def _run(server: PostgreSQL, guarantee: str, rows: int) -> Data:
    database = server.create_database()
    server.run_sql(_TABLE, database)
    report = run_ours("jdbc_upserts.py", server.url(database), guarantee, rows)
    [newest] = server.run_sql("SELECT max(cents) FROM totals", database).splitlines()
    if int(newest) != rows:
        raise MeasurementError(f"{guarantee}: the table ends with {newest}, not {rows}")
    return report


def section(data: Data) -> Section:
    rates = {guarantee: found["rows"] / found["seconds"] for guarantee, found in data.items()}
    row = Row(
        "PostgreSQL, exactly-once upserts",
        f"{BAR:,} rows/s",
        f"{rates['exactly-once']:,.0f} rows/s",
        rates["exactly-once"] >= BAR,
    )
    found = data["exactly-once"]
    used = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found["cpu"].items())
    text = (
        f"{found['rows']:,} rows of four columns, 200,000 keys, a checkpoint per second, in "
        f"{found['seconds']:.1f} s and {found['epochs']} epochs; the server runs on the same two "
        f"cores, without fsync. Processor time of the job: {used}. At least once: "
        f"{rates['at-least-once']:,.0f} rows/s."
    )
    return Section([row], [text])
