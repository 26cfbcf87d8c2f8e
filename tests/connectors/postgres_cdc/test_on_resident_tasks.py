"""A CDC source on resident tasks: the server's messages wake the reader that rests."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from captured_database import CapturedDatabase
from woken_job import HOUR, LONG, NEVER, WokenJob, rests

from millrace.connectors.postgres_cdc import reader
from millrace.connectors.wake_ups import SocketWaiter


def test_changes_pass_as_they_come(
    database: CapturedDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SAFETY_MS", NEVER)
    waits = rests(monkeypatch, SocketWaiter)
    database.run("create table orders (id int primary key)", "insert into orders values (0)")
    source = database.builder("public.orders").heartbeat_interval(HOUR).build()
    with WokenJob(source, directory=tmp_path) as job:
        job.wait_for(1)
        for number in range(1, 6):
            assert waits.acquire(timeout=LONG)  # nothing polls the connection now
            database.run(f"insert into orders values ({number})")
            job.wait_for(number + 1)
    assert [row[0] for row in job.values] == list(range(6))


def test_a_lost_connection_wakes_the_reader(
    database: CapturedDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It connects anew, and misses nothing."""
    monkeypatch.setattr(reader, "SAFETY_MS", NEVER)
    waits = rests(monkeypatch, SocketWaiter)
    database.run("create table orders (id int primary key)", "insert into orders values (0)")
    source = database.builder("public.orders").heartbeat_interval(HOUR).build()
    with WokenJob(source, directory=tmp_path) as job:
        for number in range(1, 4):
            assert waits.acquire(timeout=LONG)
            database.run(
                "select pg_terminate_backend(active_pid) from pg_replication_slots "
                "where database = current_database() and active",
                f"insert into orders values ({number})",
            )
            job.wait_for(number + 1)
    assert [row[0] for row in job.values] == list(range(4))


def test_barriers_pass_a_reader_that_waits(database: CapturedDatabase, tmp_path: Path) -> None:
    epochs = threading.Semaphore(0)
    database.run("create table orders (id int primary key)", "insert into orders values (0)")
    source = database.builder("public.orders").build()
    with WokenJob(source, 50, lambda _: epochs.release(), tmp_path) as job:
        job.wait_for(1)
        for number in range(1, 8):
            while epochs.acquire(blocking=False):
                pass
            database.run(f"insert into orders values ({number})")
            job.wait_for(number + 1)
            assert epochs.acquire(timeout=LONG)
    assert [row[0] for row in job.values] == list(range(8))
