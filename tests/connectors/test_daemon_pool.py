"""Threads that do not hold up the end of a process."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import CancelledError
from threading import Event, Lock

import pytest

from millrace.connectors.daemon_pool import DaemonPool

PATIENCE = 60.0
ENDING = """
from threading import Event
from millrace.connectors.daemon_pool import DaemonPool
began = Event()
pool = DaemonPool(1, "test")
pool.submit(lambda: (began.set(), Event().wait(3600)))
began.wait()
pool.close()
"""


def test_calls_run_beside_each_other_up_to_a_number() -> None:
    pool, free, lock, most = DaemonPool(3, "test"), Event(), Lock(), 0
    running: set[int] = set()
    full = Event()

    def call(number: int) -> int:
        nonlocal most
        with lock:
            running.add(number)
            most = max(most, len(running))
            if most == 3:
                full.set()
        free.wait(PATIENCE)
        with lock:
            running.discard(number)
        return number

    futures = [pool.submit(call, number) for number in range(9)]
    assert full.wait(PATIENCE)
    free.set()
    assert [future.result(PATIENCE) for future in futures] == list(range(9))
    assert most == 3
    pool.close()


def test_errors_go_to_their_callers_and_waiting_calls_are_cancelled() -> None:
    pool, began, free = DaemonPool(1, "test"), Event(), Event()
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result(PATIENCE)
    running = pool.submit(lambda: (began.set(), free.wait(PATIENCE))[1])
    assert began.wait(PATIENCE)
    waiting = pool.submit(divmod, 1, 1)
    pool.close()
    with pytest.raises(CancelledError):
        waiting.result(PATIENCE)
    free.set()
    assert running.result(PATIENCE)
    with pytest.raises(RuntimeError, match="'test' are closed"):
        pool.submit(divmod, 1, 1)


def test_a_process_ends_while_a_call_runs() -> None:
    assert subprocess.run([sys.executable, "-c", ENDING], timeout=PATIENCE, check=True)
