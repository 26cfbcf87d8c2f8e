"""Starts PostgreSQL, Kafka and Redis on loopback, the job, and the customers: ``python start.py``.

Everything ends with Ctrl-C. Options: ``--orders`` (how many), ``--directory`` (for data; by default
one that is deleted at the end).
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

import customers
import order_steps
import psycopg
import redis
import shop
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable
from kafka_broker import KafkaBroker
from postgresql import PostgreSQL
from redis_server import RedisServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTITIONS = 2


def prepare(postgresql: PostgreSQL, broker: KafkaBroker) -> Any:
    """Create table and topic; a connection to the database."""
    sql = psycopg.connect(postgresql.url(), autocommit=True)
    sql.execute(order_steps.TABLE)
    sql.execute("alter table orders replica identity full")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(shop.TOPIC, PARTITIONS, 1)])[shop.TOPIC].result(60)
    return sql


def start_job(directory: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """``millrace run shop.py``, in a process of its own."""
    options = ["--parallelism", "2", "--checkpoint-dir", str(directory / "checkpoints")]
    return subprocess.Popen(
        [sys.executable, "-m", "millrace.cli.main", "run", *options, "shop.py", str(directory)],
        cwd=HERE,
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=(directory / "log").open("ab"),
        start_new_session=True,
    )


def wait_for_capture(sql: Any, job: subprocess.Popen[bytes], log: Path) -> None:
    """Until each step of an order is seen: what was in the table has been read."""
    while not sql.execute("select from pg_replication_slots where active").fetchall():
        if job.poll() is not None:
            sys.exit(f"the job has ended:\n{log.read_text()[-3_000:]}")
        time.sleep(0.1)


def dashboard(server: redis.Redis, directory: Path) -> str:
    """A line of what there is."""
    known = len(list(server.scan_iter("order:*", 1_000)))
    table = str(directory / "revenues")
    rows = DeltaTable(table).count() if DeltaTable.is_deltatable(table) else 0
    return f"{known} orders, {server.xlen('alerts')} alerts, {rows} rows of revenues"


def run(arguments: argparse.Namespace, directory: Path, stack: contextlib.ExitStack) -> None:
    """Until it is interrupted."""
    servers = [
        stack.enter_context(kind(directory / kind.name))
        for kind in (PostgreSQL, KafkaBroker, RedisServer)
    ]
    environment = {name: value for s in servers for name, value in s.environment.items()}
    for name, value in environment.items():
        print(f"export {name}={value}", flush=True)
    sql = stack.enter_context(prepare(servers[0], servers[1]))
    job = start_job(directory, environment)
    stack.callback(job.wait)
    stack.callback(job.send_signal, signal.SIGTERM)
    wait_for_capture(sql, job, directory / "log")
    print(f"# the job runs; its log and its data are in {directory}", flush=True)
    for step in customers.day(arguments.orders):
        customers.apply(sql, step)
    server = redis.Redis.from_url(environment["REDIS_URL"])
    while job.poll() is None:
        print(f"# {dashboard(server, directory)}", flush=True)
        time.sleep(2)


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--orders", type=int, default=300)
    parser.add_argument("--directory", type=Path)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        if arguments.directory is None:
            arguments.directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run(arguments, arguments.directory.resolve(), stack)


if __name__ == "__main__":
    main()
