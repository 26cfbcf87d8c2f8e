"""What the server's threads and a job's workers are executing."""

from __future__ import annotations

from threading import Barrier, Event, Thread
from types import SimpleNamespace

from millrace.server.resources import thread_dumps
from millrace.server.resources.stacks import StacksAnswer, SubtaskStack


def test_threads_of_the_server(api) -> None:
    end = Event()

    def waits_in_a_test() -> None:
        end.wait()

    thread = Thread(target=waits_in_a_test, name="patient")
    thread.start()
    threads = api.get("/jobmanager/thread-dump").json()["threadInfos"]
    end.set()
    thread.join()
    (found,) = [each for each in threads if each["threadName"] == "patient"]
    assert "in waits_in_a_test" in found["stringifiedThreadInfo"]


def test_threads_of_a_worker(api, monkeypatch) -> None:
    busy = [
        SubtaskStack("count", 0, "host-a:11", 3.0, "in f"),
        SubtaskStack("count", 1, "host-b:12", 9.0, "in g"),
    ]
    answer = StacksAnswer(busy, None, None, "")
    monkeypatch.setattr(thread_dumps, "stacks_of", lambda job: answer)
    found = api.get("/taskmanagers/host-b:12/thread-dump").json()
    assert found == {
        "threadInfos": [{"threadName": "clicks: count (2)", "stringifiedThreadInfo": "in g"}]
    }
    assert api.get("/taskmanagers/host-c:13/thread-dump").status_code == 404


def test_jobs_are_asked_at_once(monkeypatch) -> None:
    """One that does not answer for long does not keep the others waiting."""
    all_asked = Barrier(3, timeout=60)

    def asked(job: SimpleNamespace) -> StacksAnswer:
        all_asked.wait()
        return StacksAnswer([SubtaskStack("op", 0, "w:1", 3.0, job.name)], None, None, "")

    monkeypatch.setattr(thread_dumps, "stacks_of", asked)
    jobs = [SimpleNamespace(name=f"job {number}") for number in range(3)]
    found = [each.stringified_thread_info for each in thread_dumps.worker_threads(jobs, "w:1")]
    assert found == ["job 0", "job 1", "job 2"]
    assert list(thread_dumps.worker_threads([], "w:1")) == []
