"""The shop, from its database to Redis and its table, compared with a plain computation."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import customers
import order_steps
import psycopg
import pytest
import redis
import shop
import shop_reference as reference
from application import EXAMPLES
from deltalake import DeltaTable
from kafka_broker import KafkaBroker
from kafka_topics import Topics, WallClock
from postgresql import PostgreSQL
from redis_server import RedisServer

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

PATIENCE_S = 400.0


def found_alerts(server: redis.Redis) -> Counter[tuple[str, str, str]]:
    entries: Any = server.xrange("alerts")
    texts = [{k.decode(): v.decode() for k, v in fields.items()} for _, fields in entries]
    return Counter((alert["kind"], alert["about"], alert["orders"]) for alert in texts)


def found_statuses(server: redis.Redis) -> dict[int, str]:
    names = list(server.scan_iter("order:*", 1_000))
    pipeline = server.pipeline(transaction=False)
    for name in names:
        pipeline.hget(name, "status")
    statuses = [status.decode() for status in pipeline.execute()]
    return {int(n.decode().partition(":")[2]): s for n, s in zip(names, statuses, strict=True)}


def found_revenues(directory: Path) -> dict[tuple[str, int], tuple[int, int]]:
    found: dict[tuple[str, int], tuple[int, int]] = {}
    if not DeltaTable.is_deltatable(str(directory)):
        return found
    for row in DeltaTable(str(directory)).to_pyarrow_table().to_pylist():
        place = row["product"], row["start"]
        assert place not in found, f"{place} comes twice"
        found[place] = row["orders"], row["cents"]
    return found


@pytest.fixture
def servers(
    postgresql: PostgreSQL,
    kafka_broker: KafkaBroker,
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[psycopg.Connection[Any]]:
    """The servers as the job finds them, with a connection to the database of the shop."""
    for server in (postgresql, kafka_broker, redis_server):
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
    database = postgresql.create_database()
    monkeypatch.setenv("PGDATABASE", database)
    Topics(kafka_broker.bootstrap_servers).create(2, shop.TOPIC)
    with psycopg.connect(postgresql.url(database), autocommit=True) as sql:
        sql.execute(order_steps.TABLE)
        sql.execute("alter table orders replica identity full")
        yield sql
        sql.execute("select pg_drop_replication_slot('shop')")


@pytest.mark.turns(7)
def test_a_day_in_runs_that_end(
    servers: psycopg.Connection[Any], redis_server: RedisServer, tmp_path: Path
) -> None:
    """Each run takes to Kafka what has changed, and from there what was there when it began."""
    steps = customers.day(150)
    settings = Configuration({"millrace.available-now": "true"})
    faults = Faults(lost_epochs=0.05)
    for part in (), steps[:200], steps[200:], ():
        for step in part:
            customers.apply(servers, step)
        with run_local(
            clock=WallClock(), checkpoint_dir=str(tmp_path / "checkpoints"), resume=True,
            faults=faults, seed=len(part),
        ):  # fmt: skip
            env = StreamExecutionEnvironment.get_execution_environment(settings)
            env.set_parallelism(2)
            shop.build(env, tmp_path)
            env.execute("shop")
    server = redis.Redis.from_url(redis_server.url)
    assert found_statuses(server) == reference.statuses(steps)
    assert found_alerts(server) == reference.alerts(steps)
    assert found_revenues(tmp_path / "revenues") == reference.revenues(steps)


@pytest.mark.connectors
@pytest.mark.spark
def test_one_command_starts_it_all(tmp_path: Path) -> None:
    steps = customers.day(300)
    command = [sys.executable, str(EXAMPLES / "shop/start.py"), "--directory", str(tmp_path)]
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen([*command, "--orders", "300"], stdout=said)
    try:
        until = time.monotonic() + PATIENCE_S
        while found_revenues(tmp_path / "revenues") != reference.revenues(steps):
            assert process.poll() is None
            assert time.monotonic() < until, (tmp_path / "log").read_text()[-3_000:]
            time.sleep(0.5)
        lines = (tmp_path / "said").read_text().splitlines()
        [url] = [line.partition("=")[2] for line in lines if line.startswith("export REDIS_URL=")]
        server = redis.Redis.from_url(url)
        while found_alerts(server) != reference.alerts(steps):
            assert time.monotonic() < until, found_alerts(server)
            time.sleep(0.5)
        assert found_statuses(server) == reference.statuses(steps)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
