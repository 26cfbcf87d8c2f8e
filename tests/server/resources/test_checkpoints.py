"""Checkpoints and exceptions in Flink's JSON."""

from __future__ import annotations

from dataclasses import replace

from gallery import BEGUN, FAILED, NOW, RUNNING, TRACEBACK

from millrace.common.job import JobStatus
from millrace.server.observed_job import vertex_id
from millrace.server.registry import ProcessAttempt


def test_statistics(api) -> None:
    statistics = api.get(f"/jobs/{RUNNING}/checkpoints").json()
    assert statistics["counts"] == {
        "restored": 1, "total": 4, "in_progress": 0, "completed": 3, "failed": 1,
    }  # fmt: skip
    assert [each["status"] for each in statistics["history"]] == [
        "COMPLETED", "FAILED", "COMPLETED",
    ]  # fmt: skip
    newest = statistics["latest"]["completed"]
    assert (newest["id"], newest["end_to_end_duration"]) == (3, 40)
    assert newest["latest_ack_timestamp"] == BEGUN + 90_040
    assert newest["external_path"].endswith("chk-3")
    assert (newest["checkpointed_size"], newest["state_size"]) == (100, 5_000)
    assert newest["tasks"][vertex_id("count")]["state_size"] == 4_000
    assert statistics["latest"]["restored"]["id"] == 1
    assert statistics["latest"]["failed"]["failure_message"] == "disk full"
    assert statistics["summary"]["end_to_end_duration"]["avg"] == 30


def test_details_and_config(api) -> None:
    one = api.get(f"/jobs/{RUNNING}/checkpoints/details/2").json()
    assert (one["id"], one["discarded"], one["num_subtasks"]) == (2, False, 3)
    # it is one of the newest two, but somebody has deleted it
    assert api.get(f"/jobs/{RUNNING}/checkpoints/details/3").json()["discarded"]
    assert api.get(f"/jobs/{RUNNING}/checkpoints/details/77").status_code == 404
    config = api.get(f"/jobs/{RUNNING}/checkpoints/config").json()
    assert (config["mode"], config["interval"]) == ("exactly_once", 1_000)


def test_exceptions(api) -> None:
    found = api.get(f"/jobs/{RUNNING}/exceptions").json()
    assert found["root-exception"] == TRACEBACK
    entry, death = found["exceptionHistory"]["entries"]
    assert (entry["exceptionName"], entry["taskName"]) == ("ValueError", "count")
    assert death["stacktrace"] == "the job's process has died (signal 9); it was started again"
    assert (death["timestamp"], death["fatal"]) == (BEGUN + 10, False)
    [notice] = found["notices"]
    assert (notice["level"], notice["text"]) == ("WARNING", "no price of 4")
    assert (notice["taskName"], notice["subtasks"], notice["count"]) == ("count", [0, 1], 6)
    assert notice["timestamp"] - notice["first"] == 9_000
    none = api.get(f"/jobs/{RUNNING}/exceptions?maxExceptions=0").json()
    assert none["exceptionHistory"] == {"entries": [], "truncated": True}
    assert api.get(f"/jobs/{RUNNING}/exceptions?maxExceptions=-1").status_code == 400
    dead = api.get(f"/jobs/{FAILED}/exceptions").json()
    assert dead["exceptionHistory"]["entries"][0]["timestamp"] == NOW


def test_the_death_of_a_process_is_told_once(api, job_server) -> None:
    """Also of a job that was cancelled before it was started again."""
    crashed, given_up = "crashed: signal 9", "its process has died and is not started again"
    registry = job_server.registry
    registry.put_attempt(ProcessAttempt(RUNNING, 1, 2, BEGUN + 20, BEGUN + 30, crashed))
    job = registry.job(RUNNING)
    again = "the job's process has died (signal 9); it was started again"
    for status, error, newest in (
        (JobStatus.RESTARTING, "", "the job's process has died (signal 9)"),
        (JobStatus.CANCELED, "", "the job's process has died (signal 9)"),
        (JobStatus.FAILED, given_up, given_up),
    ):
        ended = None if status is JobStatus.RESTARTING else NOW
        registry.put_job(replace(job, status=status, ended=ended, error=error))
        entries = api.get(f"/jobs/{RUNNING}/exceptions").json()["exceptionHistory"]["entries"]
        told = sorted(entry["stacktrace"] for entry in entries if "died" in entry["stacktrace"])
        assert told == sorted([newest, again])
