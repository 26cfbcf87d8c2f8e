"""Starts PostgreSQL and OpenSearch on loopback, the job, and people at work: ``python start.py``.

Everything ends with Ctrl-C. Options: ``--steps`` (how many transactions), ``--directory`` (for
data; by default one that is deleted at the end).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "services"))

import catalog
import psycopg
import search
from opensearch import OpenSearch
from postgresql import PostgreSQL

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def start_job(directory: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """``millrace run search.py``, in a process of its own."""
    options = ["--parallelism", "2", "--checkpoint-dir", str(directory / "checkpoints")]
    return subprocess.Popen(
        [sys.executable, "-m", "millrace.cli.main", "run", *options, "search.py"],
        cwd=HERE,
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=(directory / "log").open("ab"),
        start_new_session=True,
    )


def dashboard(sql: Any, server: OpenSearch) -> str:
    """What the tables, the index and the view have."""
    [(products,)] = sql.execute("select count(*) from products").fetchall()
    documents = server.request("GET", f"/{search.INDEX}/_count").get("count", 0)
    rows = sql.execute("select category, products from derived.categories order by 1").fetchall()
    view = ", ".join(f"{category}: {count}" for category, count in rows)
    return f"{products} products, {documents} documents; {view}"


def run(arguments: argparse.Namespace, directory: Path, stack: contextlib.ExitStack) -> None:
    """Until it is interrupted."""
    postgresql = stack.enter_context(PostgreSQL(directory / "postgresql"))
    server = stack.enter_context(OpenSearch(directory / "opensearch"))
    environment = {**postgresql.environment, **server.environment}
    for name, value in environment.items():
        print(f"export {name}={value}", flush=True)
    sql = stack.enter_context(psycopg.connect(postgresql.url(), autocommit=True))
    sql.execute(catalog.TABLES)
    job = start_job(directory, environment)
    stack.callback(job.wait)
    stack.callback(job.send_signal, signal.SIGTERM)
    print(f"# the job starts; its log and its data are in {directory}", flush=True)
    for number, transaction in enumerate(catalog.work(arguments.steps)):
        catalog.apply(sql, transaction)
        if number % 50 == 0:
            print(f"# {dashboard(sql, server)}", flush=True)
        time.sleep(0.02)
    while job.poll() is None:
        print(f"# {dashboard(sql, server)}", flush=True)
        time.sleep(2)


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--directory", type=Path)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        if arguments.directory is None:
            arguments.directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run(arguments, arguments.directory.resolve(), stack)


if __name__ == "__main__":
    main()
