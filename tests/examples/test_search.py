"""The index and the view of the shop's catalogue, against the queries on the database itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import catalog
import psycopg
import pytest
import search
from application import EXAMPLES
from postgresql import PostgreSQL
from wall_clock import WallClock

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

PATIENCE_S = 300.0
Documents = dict[str, dict[str, Any]]


class Index(ThreadingHTTPServer):
    """Knows of Elasticsearch's bulk interface what the sink needs, and keeps the documents."""

    def __init__(self) -> None:
        self.documents: Documents = {}
        super().__init__(("127.0.0.1", 0), BulkHandler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class BulkHandler(BaseHTTPRequestHandler):
    server: Index

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).splitlines()
        lines, items = iter(body), []
        for line in lines:
            [(operation, place)] = json.loads(line).items()
            assert place["_index"] == search.INDEX
            if operation == "delete":
                gone = self.server.documents.pop(place["_id"], None)
                items.append({operation: {"status": 404 if gone is None else 200}})
            else:
                self.server.documents[place["_id"]] = json.loads(next(lines))
                items.append({operation: {"status": 200}})
        payload = json.dumps({"errors": False, "items": items}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def index() -> Iterator[Index]:
    server = Index()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def database(
    postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> Iterator[psycopg.Connection[Any]]:
    """The database of the shop, as the job finds it."""
    name = postgresql.create_database()
    for variable, value in {**postgresql.environment, "PGDATABASE": name}.items():
        monkeypatch.setenv(variable, value)
    with psycopg.connect(postgresql.url(name), autocommit=True) as sql:
        sql.execute(catalog.TABLES)
        yield sql
        drop_slots(sql)


def drop_slots(sql: psycopg.Connection[Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            sql.execute(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots "
                "where database = current_database()"
            )
            return
        except psycopg.errors.ObjectInUse:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def expected_documents(sql: psycopg.Connection[Any]) -> Documents:
    """What the query gives that PostgreSQL runs itself."""
    text = catalog.DOCUMENTS.replace("CAST(stars AS DOUBLE)", "stars")
    names = ("id", "name", "category", "cents", "reviews", "stars")
    rows = [dict(zip(names, row, strict=True)) for row in sql.execute(text).fetchall()]
    for row in rows:
        row["stars"] = None if row["stars"] is None else float(row["stars"])
    return {str(row["id"]): row for row in rows}


def check(sql: psycopg.Connection[Any], documents: Documents) -> None:
    assert documents == expected_documents(sql)
    view = sql.execute("select * from derived.categories").fetchall()
    assert sorted(view) == sorted(sql.execute(catalog.CATEGORIES).fetchall())


def test_index_and_view_follow_the_tables(
    database: psycopg.Connection[Any],
    index: Index,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Each run takes what has been committed, with faults; between runs the database changes."""
    monkeypatch.setenv("OPENSEARCH_URL", index.url)
    work = list(catalog.work(400))
    settings = Configuration({"millrace.available-now": "true"})
    for number, part in enumerate((work[:150], work[150:300], work[300:])):
        for transaction in part:
            catalog.apply(database, transaction)
        with run_local(
            clock=WallClock(), checkpoint_dir=str(tmp_path), resume=True, seed=number,
            faults=Faults(lost_epochs=0.05),
        ):  # fmt: skip
            env = StreamExecutionEnvironment.get_execution_environment(settings)
            search.build(env.set_parallelism(2))
            env.execute("search")
        check(database, index.documents)
    assert len(index.documents) > 30


@pytest.mark.connectors
@pytest.mark.spark
def test_one_command_starts_it_all(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "search/start.py"), "--directory", str(tmp_path)]
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen([*command, "--steps", "100"], stdout=said)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert process.poll() is None
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-3_000:]
            line = (tmp_path / "said").read_text().splitlines()[-1:] or [""]
            tables, _, rest = line[0].removeprefix("# ").partition(" products, ")
            if tables == rest.partition(" documents")[0] and "room 3" in rest:
                break
            time.sleep(0.5)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
