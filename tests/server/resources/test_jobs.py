"""Jobs in Flink's JSON."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import gallery
import msgspec
from gallery import BEGUN, FAILED, FINISHED, NEW, NOW, RUNNING
from starlette.testclient import TestClient

from millrace.server import observed_job
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application
from millrace.server.observed_job import vertex_id
from millrace.server.resources.jobs import job_details

TOKENS = AccessTokens(read="r" * 20, operate="o" * 20)
SOURCE, COUNT = vertex_id("source"), vertex_id("count")


def test_all_jobs(api) -> None:
    jobs = api.get("/jobs").json()["jobs"]
    assert {job["id"]: job["status"] for job in jobs} == {
        RUNNING: "RUNNING",
        FAILED: "FAILED",
        NEW: "CREATED",
        FINISHED: "FINISHED",
    }


def test_overview(api) -> None:
    jobs = {job["jid"]: job for job in api.get("/jobs/overview").json()["jobs"]}
    running = jobs[RUNNING]
    assert (running["name"], running["state"], running["duration"]) == (
        "clicks", "RUNNING", NOW - BEGUN,
    )  # fmt: skip
    assert (running["start-time"], running["end-time"]) == (BEGUN, -1)
    assert (running["tasks"]["total"], running["tasks"]["running"]) == (3, 3)
    assert running["watermark-lag-ms"] == 3_000
    assert running["last-checkpoint"] == BEGUN + 90_040
    assert running["restarts"] == 2, "once by the job's process, once with another process"
    assert jobs[NEW]["last-checkpoint"] is None
    assert jobs[NEW]["name"] == "brand new"
    assert jobs[NEW]["tasks"]["total"] == 0
    assert jobs[FAILED]["error"] == gallery.TRACEBACK
    assert jobs[FINISHED]["tasks"]["finished"] == 3
    assert jobs[FINISHED]["end-time"] == NOW - 50_000


def test_details(api) -> None:
    job = api.get(f"/jobs/{RUNNING}").json()
    assert job["timestamps"]["RUNNING"] == BEGUN + 5_000
    assert job["maxParallelism"] == 128
    assert (job["last-checkpoint"], job["restarts"]) == (BEGUN + 90_040, 2)
    source, count = job["vertices"]
    assert (source["id"], source["uid"], source["parallelism"]) == (SOURCE, "source", 2)
    assert source["metrics"]["read-records"] == 900
    assert source["records-in-per-second"] == 200.0
    assert source["records-out-per-second"] == 160.0
    assert count["records-in-per-second"] == 160.0
    assert count["watermark-lag-ms"] == 3_000
    assert list(count["operators"]) == ["count", "sink"]
    assert job["status-counts"]["RUNNING"] == 2
    nodes = job["plan"]["nodes"]
    assert nodes[1]["inputs"] == [
        {"num": 0, "id": SOURCE, "ship_strategy": "HASH", "exchange": "pipelined_bounded"}
    ]
    assert api.get(f"/jobs/{RUNNING}/plan").json()["plan"] == job["plan"]


def test_a_job_that_has_not_begun(api) -> None:
    job = api.get(f"/jobs/{NEW}").json()
    assert (job["state"], job["vertices"], job["plan"]["nodes"]) == ("CREATED", [], [])
    assert api.get(f"/jobs/{NEW}/status").json() == {"status": "CREATED"}
    for part in ("config", "exceptions", "checkpoints", "accumulators", "metrics", "log"):
        assert api.get(f"/jobs/{NEW}/{part}").status_code == 200, part
    assert api.get(f"/jobs/{NEW}/checkpoints/config").status_code == 404


def test_a_job_is_read_again_when_it_has_changed(api, job_server) -> None:
    assert api.get(f"/jobs/{RUNNING}").json()["epoch"] == 9
    path = next((job_server.settings.jobs / RUNNING).glob("*/details.json"))
    path.write_text(path.read_text().replace('"epoch":9', '"epoch":10'))
    assert api.get(f"/jobs/{RUNNING}").json()["epoch"] == 10
    path.write_text("{")  # being written by a job that knows no better
    assert api.get(f"/jobs/{RUNNING}").json()["epoch"] == 10


def test_config_and_result(api) -> None:
    config = api.get(f"/jobs/{RUNNING}/config").json()["execution-config"]
    assert config["job-parallelism"] == 2
    assert config["user-config"]["s3.secret-key"] == "******"
    result = f"/jobs/{FAILED}/execution-result"
    assert api.get(result).json()["job-execution-result"]["application-status"] == "FAILED"
    assert api.get(f"/jobs/{RUNNING}/execution-result").json()["status"] == {"id": "IN_PROGRESS"}


def test_the_server(api) -> None:
    overview = api.get("/overview").json()
    assert (overview["jobs-running"], overview["jobs-finished"]) == (2, 1)
    assert (overview["jobs-failed"], overview["taskmanagers"]) == (1, 2)
    config = api.get("/config").json()
    assert (config["features"]["web-submit"], config["role"]) == (False, "operate")
    assert api.get("/health").json()["status"] == "ok"
    workers = api.get("/taskmanagers").json()["taskmanagers"]
    assert [(w["id"], w["host"], w["slotsNumber"]) for w in workers] == [
        ("host-a:11", "host-a", 2),
        ("host-b:12", "host-b", 1),
    ]


def test_who_may_only_read_sees_no_arguments(api, job_server) -> None:
    assert api.get(f"/jobs/{RUNNING}").json()["arguments"] == ["--fast"]
    reading = {"Authorization": f"Bearer {TOKENS.read}"}
    assert api.get(f"/jobs/{RUNNING}", headers=reading).json()["arguments"] == ["******"]
    assert "--fast" not in api.get("/jobs/overview", headers=reading).text
    open_to_all = TestClient(create_application(job_server, gallery.NO_TOKENS), gallery.LOCAL)
    assert open_to_all.get(f"/jobs/{RUNNING}").json()["arguments"] == ["--fast"]


def test_which_jobs_can_be_stopped(api, job_server) -> None:
    ids = (RUNNING, FINISHED, NEW)
    assert [api.get(f"/jobs/{id}").json()["isStoppable"] for id in ids] == [True, False, False]
    job = job_server._observed.observe(job_server.registry.job(RUNNING))
    # what AUTOMATIC has found, too
    batch = replace(job, archive=msgspec.structs.replace(job.archive, batch=True))
    assert not batch.is_stoppable
    kinds = [job_details(each).job_type for each in (job, batch)]
    assert kinds == ["STREAMING", "BATCH"]


def test_a_slow_disk_holds_up_one_job(api, job_server, monkeypatch) -> None:
    """While what one job tells is being read, the others are answered."""
    reads, goes_on = Event(), Event()
    read = observed_job.read_archive

    def slowly(directory):
        if RUNNING in str(directory):
            reads.set()
            assert goes_on.wait(60)
        return read(directory)

    monkeypatch.setattr(observed_job, "read_archive", slowly)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(api.get, f"/jobs/{RUNNING}")
        assert reads.wait(60)
        try:
            assert api.get(f"/jobs/{FINISHED}").json()["name"] == "clicks"
            assert not slow.done()
        finally:
            goes_on.set()
        assert slow.result().json()["name"] == "clicks"
