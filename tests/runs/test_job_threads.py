"""No thread of a job that has ended runs beside the next test."""

from __future__ import annotations

import threading

import pytest
from job_threads import await_task_threads

from millrace.testing.resident_tasks import TASK_THREADS


def task_thread(until: threading.Event) -> threading.Thread:
    thread = threading.Thread(target=until.wait, name=f"{TASK_THREADS}0", daemon=True)
    thread.start()
    return thread


def test_threads_of_tasks_end_first() -> None:
    may_end = threading.Event()
    thread = task_thread(may_end)
    threading.Timer(0.05, may_end.set).start()
    await_task_threads()
    assert not thread.is_alive()


def test_a_thread_that_never_ends_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    stuck = task_thread(never)
    with pytest.warns(UserWarning, match="goes on beside the next tests"):
        await_task_threads(0.01)
    assert stuck.is_alive()
    with monkeypatch.context() as patched:
        patched.setattr(stuck, "join", lambda *_: pytest.fail("it is waited for again"))
        await_task_threads()
    never.set()
    stuck.join()
