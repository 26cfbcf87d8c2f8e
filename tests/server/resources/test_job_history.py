"""The last hour, attempts and stacks."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread

import gallery
import msgspec
from gallery import BEGUN, FAILED, NEW, NOW, RUNNING

from millrace.engine.control_mailbox import Mailbox, MailboxAnswer, RunNote
from millrace.engine.job_details import LatencyDetails
from millrace.server.history_sampler import SPAN, HistoryPoint, HistorySampler, point_of
from millrace.server.resources import stacks


def test_points(api, job_server) -> None:
    assert api.get(f"/jobs/{RUNNING}/history").json() == {"series": []}
    job_server.history.sample()
    (point,) = api.get(f"/jobs/{RUNNING}/history").json()["series"]
    assert point == {
        "time": NOW,
        "records-per-second": 200.0,
        "epoch-ms": 500.0,
        "checkpoint-ms": 40.4,
        "checkpoint-bytes": 5_000.0,
        "watermark-lag-ms": 3_000.0,
        "busy-ratio": 0.9,
        "latency-ms": 500.0,
    }
    assert api.get(f"/jobs/{RUNNING}/history?since={NOW}").json() == {"series": []}
    assert api.get(f"/jobs/{NEW}/history").json() == {"series": []}
    assert api.get(f"/jobs/{FAILED}/history?since=x").status_code == 400


def test_latency_is_that_of_the_slowest_marker(job_server) -> None:
    job = job_server._observed.observe(job_server.registry.job(RUNNING))
    markers = tuple(
        LatencyDetails("read", "count", subtask, 2, 90.0, last, 80.0, {}, last)
        for subtask, last in enumerate((10.0, 25.0))
    )
    details = replace(job.details, latencies=markers)
    marked = replace(job, archive=msgspec.structs.replace(job.archive, details=details))
    assert point_of(marked).latency_ms == 25.0


def test_what_is_unknown_stays_so() -> None:
    point = HistoryPoint(7, 1.5)
    assert HistoryPoint.unpacked(point.packed()) == point


def test_an_hour_is_kept(job_server) -> None:
    time = NOW
    job = job_server._observed.observe(job_server.registry.job(RUNNING))
    jobs = [job]
    sampler = HistorySampler(lambda: jobs, lambda: time)
    sampler.sample()
    assert sampler.points(RUNNING) == [point_of(job)]
    jobs.clear()
    time += SPAN + 1
    sampler.sample()
    assert sampler.points(RUNNING) == []


def test_attempts(api) -> None:
    first, second = api.get(f"/jobs/{RUNNING}/attempts").json()["attempts"]
    assert first == {
        "attempt": 0,
        "pid": 1,
        "start-time": BEGUN,
        "end-time": BEGUN + 10,
        "duration": 10,
        "outcome": "crashed: signal 9",
    }
    assert (second["end-time"], second["outcome"]) == (-1, "")


def test_stacks_of_a_job(api, job_server) -> None:
    place = next((job_server.settings.jobs / RUNNING).glob("clicks-*"))
    mailbox = Mailbox(place)
    busy = {"operator": "count", "subtask": 1, "worker": "a:1", "seconds": 3.0, "stack": "in f"}
    running = {
        "epoch": 9, "attempt": 0, "since": BEGUN, "subtasks": 3, "done": 2, "busy": [],
    }  # fmt: skip

    def answer() -> None:
        while not (requests := mailbox.requests()):
            pass
        mailbox.take(requests[0].id)
        result = {"running": running, "stacks": [busy], "driver": "in main", "waits_for": "x"}
        mailbox.answer(MailboxAnswer(requests[0].id, "done", result))

    with mailbox.open_for(RunNote("r1", "clicks", place.name, "host", 1, 0)):
        thread = Thread(target=answer, daemon=True)
        thread.start()
        found = api.get(f"/jobs/{RUNNING}/stacks").json()
        thread.join()
    assert (found["subtasks"], found["driver"], found["waits-for"]) == ([busy], "in main", "x")
    assert found["epoch"]["done"] == 2


def test_stacks_of_a_job_that_does_not_answer(api, monkeypatch) -> None:
    monkeypatch.setattr(stacks, "TIMEOUT", 0.1)
    found = api.get(f"/jobs/{RUNNING}/stacks").json()
    assert (found["subtasks"], found["waits-for"]) == ([], "the job is not running")
    assert api.get(f"/jobs/{gallery.FAILED}/stacks").json()["driver"] is None
