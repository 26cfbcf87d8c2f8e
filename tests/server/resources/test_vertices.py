"""Vertices, their metrics and accumulators."""

from __future__ import annotations

import pytest
from gallery import NOW, RUNNING

from millrace.server.observed_job import vertex_id

SOURCE = f"/jobs/{RUNNING}/vertices/{vertex_id('source')}"
COUNT = f"/jobs/{RUNNING}/vertices/{vertex_id('count')}"


def test_a_vertex(api) -> None:
    vertex = api.get(SOURCE).json()
    assert [s["taskmanager-id"] for s in vertex["subtasks"]] == ["host-a:11", "host-b:12"]
    assert vertex["subtasks"][1]["metrics"]["read-records"] == 360
    assert vertex["subtasks"][1]["metrics"]["write-bytes"] == 2_700
    assert vertex["metrics"]["read-bytes"] == 9_000
    assert (vertex["busy-ratio"], vertex["subtasks"][1]["busy-ratio"]) == (0.25, 0.25)
    assert api.get(f"{SOURCE}/subtasks/1").json() == vertex["subtasks"][1]
    assert api.get(f"{SOURCE}/subtasks/1/attempts/1").json() == vertex["subtasks"][1]
    assert api.get(f"{SOURCE}/subtasks/2").status_code == 404
    assert api.get(f"{SOURCE}/subtasks/x").status_code == 404
    assert api.get(f"/jobs/{RUNNING}/vertices/{'0' * 32}").status_code == 404


def test_times_of_a_vertex_are_those_of_all_its_subtasks(api) -> None:
    vertex = api.get(SOURCE).json()
    names = [f"accumulated-{load}-time" for load in ("busy", "backpressured", "idle")]
    [first, second] = [[each["metrics"][n] for n in names] for each in vertex["subtasks"]]
    assert first == second == [1_125, 225, 3_150]
    assert [vertex["metrics"][name] for name in names] == [2_250, 450, 6_300]
    [listed] = [
        each
        for each in api.get(f"/jobs/{RUNNING}").json()["vertices"]
        if each["id"] == vertex["id"]
    ]
    assert listed["metrics"] == vertex["metrics"]
    [on_a_worker, _] = api.get(f"{SOURCE}/taskmanagers").json()["taskmanagers"]
    assert [on_a_worker["metrics"][name] for name in names] == first


def test_the_figures_of_operators_are_those_of_all_subtasks(api) -> None:
    [source] = api.get(SOURCE).json()["operator-figures"]
    assert source == {
        "uid": "source",
        "name": "Source: clicks",
        "records-in": 9 * (60 + 40),
        "records-out": 9 * (50 + 30),
        "watermark": NOW - 1_000,
    }


def test_watermarks_and_workers(api) -> None:
    assert api.get(f"{SOURCE}/watermarks").json()[1] == {
        "id": "1.currentInputWatermark",
        "value": str(NOW - 500),
    }
    hosts = [w["host"] for w in api.get(f"{SOURCE}/taskmanagers").json()["taskmanagers"]]
    assert hosts == ["host-a", "host-b"]
    assert len(api.get(f"{SOURCE}/subtasktimes").json()["subtasks"]) == 2
    pressure = api.get(f"{SOURCE}/backpressure").json()
    assert (pressure["status"], pressure["backpressureLevel"]) == ("ok", "ok")
    one = pressure["subtasks"][1]
    assert (one["ratio"], one["busyRatio"], one["idleRatio"]) == (0.05, 0.25, 0.7)


def test_metrics_are_named_first(api) -> None:
    names = [each["id"] for each in api.get(f"{COUNT}/metrics").json()]
    assert {
        "0.numRecordsInPerSecond",
        "0.busyTimeMsPerSecond",
        "0.count.numRecordsIn",
        "0.count.words",
    } <= set(names)
    assert all(set(each) == {"id"} for each in api.get(f"{COUNT}/metrics").json())
    wanted = "0.numRecordsInPerSecond,0.count.words,0.count.mode,0.nothing"
    assert api.get(f"{COUNT}/metrics", params={"get": wanted}).json() == [
        {"id": "0.numRecordsInPerSecond", "value": "160.0"},
        {"id": "0.count.words", "value": "7"},
        {"id": "0.count.mode", "value": "fast"},
    ]


def test_metrics_over_subtasks(api) -> None:
    wanted = {"get": "numRecordsInPerSecond"}
    assert api.get(f"{SOURCE}/subtasks/metrics", params=wanted).json() == [
        {"id": "numRecordsInPerSecond", "min": 80.0, "max": 120.0, "sum": 200.0, "avg": 100.0}
    ]
    only = {**wanted, "agg": "max", "subtasks": "1-7"}
    assert api.get(f"{SOURCE}/subtasks/metrics", params=only).json() == [
        {"id": "numRecordsInPerSecond", "max": 80.0}
    ]
    assert api.get(f"{SOURCE}/subtasks/1/metrics", params=wanted).json()[0]["value"] == "80.0"


@pytest.mark.parametrize("wrong", ["agg=median&get=x", "subtasks=a&get=x"])
def test_wrong_parameters(api, wrong) -> None:
    assert api.get(f"{SOURCE}/subtasks/metrics?{wrong}").status_code == 400


def test_metrics_of_jobs(api) -> None:
    values = {
        each["id"]: each["value"]
        for each in api.get(
            f"/jobs/{RUNNING}/metrics?get=numRestarts,uptime,lastCheckpointDuration"
        ).json()
    }
    assert values == {"numRestarts": "2", "uptime": "94600", "lastCheckpointDuration": "40"}
    over = api.get(f"/jobs/metrics?get=numRestarts&agg=sum&jobs={RUNNING}").json()
    assert over == [{"id": "numRestarts", "sum": 2.0}], "as in the overview"
    assert any(each["id"] == "numRunningJobs" for each in api.get("/jobmanager/metrics").json())


def test_accumulators(api) -> None:
    found = api.get(f"/jobs/{RUNNING}/accumulators").json()["user-task-accumulators"]
    assert found == [
        {"name": "committed", "type": "LongCounter", "value": "2"},
        {"name": "words", "type": "LongCounter", "value": "7"},
    ]
    by_subtask = api.get(f"{COUNT}/subtasks/accumulators").json()["subtasks"]
    assert by_subtask[0]["user-accumulators"][0]["value"] == "7"
    committers = api.get(f"{COUNT}/jm-operator-metrics?get=Sink__out.committed").json()
    assert committers == [{"id": "Sink__out.committed", "value": "2"}]
    assert len(api.get(f"{COUNT}/accumulators").json()["user-accumulators"]) == 2
