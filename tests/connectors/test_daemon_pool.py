"""Threads that do not hold up the end of a process."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import CancelledError, Future
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

import pytest

from millrace.connectors import daemon_pool
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


class TakenQueue(SimpleQueue[Any]):
    """Queue of calls, the last of which an idle thread takes just after `close` has seen it."""

    def empty(self) -> bool:
        is_empty = super().empty()
        try:
            self.get_nowait()
        except Empty:
            return is_empty
        return False


def test_a_pool_closes_while_an_idle_thread_takes_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_pool, "SimpleQueue", TakenQueue)
    pool, began, free = DaemonPool(1, "test"), Event(), Event()
    pool.submit(lambda: (began.set(), free.wait(PATIENCE)))
    assert began.wait(PATIENCE)
    pool.submit(divmod, 1, 1)
    closed: Future[None] = Future()
    Thread(target=lambda: closed.set_result(pool.close()), daemon=True).start()
    closed.result(PATIENCE)
    free.set()


def test_a_process_ends_while_a_call_runs() -> None:
    assert subprocess.run([sys.executable, "-c", ENDING], timeout=PATIENCE, check=True)
