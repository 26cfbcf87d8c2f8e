"""What the server's threads and a job's workers are executing."""

from __future__ import annotations

from threading import Event, Thread

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
