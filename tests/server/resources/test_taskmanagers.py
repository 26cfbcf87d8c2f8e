"""Workers: which there are, what they run, their metrics and logs."""

from __future__ import annotations

from gallery import NOW, RUNNING

WORKER = "/taskmanagers/host-a:11"


def test_a_worker_and_its_subtasks(api) -> None:
    found = api.get(WORKER).json()
    assert (found["id"], found["host"], found["slotsNumber"]) == ("host-a:11", "host-a", 2)
    assert found["jobs"] == [RUNNING]
    assert found["hardware"]["cpuCores"] == 0
    ran = [(each["jid"], each["name"], each["subtask"]) for each in found["subtasks"]]
    assert ran == [(RUNNING, "Source: clicks", 0), (RUNNING, "count -> Sink", 0)]
    for path in ("", "/metrics", "/log", "/logs", "/thread-dump"):
        assert api.get(f"/taskmanagers/host-c:13{path}").status_code == 404


def test_metrics_are_those_of_its_subtasks(api) -> None:
    names = {each["id"] for each in api.get(f"{WORKER}/metrics").json()}
    assert {"numRecordsInPerSecond", "busyTimeMsPerSecond", "stateSize"} <= names
    asked = "numRecordsIn,busyTimeMsPerSecond,accumulateBusyTimeMs,currentInputWatermark,nothing"
    found = api.get(f"{WORKER}/metrics?get={asked}").json()
    values = {each["id"]: float(each["value"]) for each in found}
    assert values == {
        "numRecordsIn": (60 + 80) * 9,
        "busyTimeMsPerSecond": 250.0 + 900.0,
        "accumulateBusyTimeMs": 4.5 * (250 + 900),
        "currentInputWatermark": NOW - 3_000,
    }


def test_metrics_over_workers(api) -> None:
    path = "/taskmanagers/metrics?get=numRecordsIn"
    (found,) = api.get(path).json()
    assert (found["min"], found["max"], found["sum"]) == (360.0, 1260.0, 1620.0)
    (of_one,) = api.get(f"{path}&taskmanagers=host-b:12&agg=sum").json()
    assert of_one == {"id": "numRecordsIn", "sum": 360.0}
    assert {"id": "numRecordsIn"} in api.get("/taskmanagers/metrics").json()


def test_logs_are_those_of_its_jobs(api) -> None:
    (log,) = api.get(f"{WORKER}/logs").json()["logs"]
    assert (log["name"], log["size"]) == (f"{RUNNING}.log", 23)
    for path in (f"logs/{log['name']}", "log", "stdout"):
        assert api.get(f"{WORKER}/{path}").text == "first line\nsecond line\n"
    assert api.get(f"{WORKER}/logs/..%2F..%2Foperate.token").status_code == 404
    assert api.get(f"{WORKER}/logs/other.log").status_code == 404
