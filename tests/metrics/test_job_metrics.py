from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType

import msgspec
import numpy as np
import pytest

from millrace.common.job import JobStatus
from millrace.engine.job_details import (
    CheckpointHistory,
    CheckpointStats,
    JobDetails,
    LatencyDetails,
    OperatorDetails,
    RestoredCheckpoint,
    StageDetails,
    SubtaskDetails,
)
from millrace.metrics.job_metrics import EventRates, JobMetrics
from millrace.metrics.measurement import (
    HistogramValue,
    Measurement,
    MetricKind,
    MetricScope,
    numbers,
)
from millrace.runtime.metrics import MetricDescription, Summary


def details(**changes) -> JobDetails:
    subtask = SubtaskDetails(
        10,
        5,
        9_000,
        "worker:7",
        total_in=100,
        total_out=50,
        records_in_per_second=20.0,
        busy_ms_per_second=600.0,
        back_pressured_ms_per_second=100.0,
        state_bytes=77,
        operators=(OperatorDetails(100, 80, 9_000), OperatorDetails(80, 50, None)),
        busy_ms=6_000,
        back_pressured_ms=1_000,
        idle_ms=3_000,
    )
    stage = StageDetails(
        "s1", "Map -> Filter", MappingProxyType({"m": "Map", "f": "Filter"}), subtasks=(subtask,)
    )
    fields = {
        "job_name": "count",
        "status": JobStatus.RUNNING,
        "since": {JobStatus.RUNNING: 1_000},
        "restarts": 2,
        "epoch_accepted": 10_000,
        "stages": (stage,),
        "checkpoints": CheckpointHistory(
            3,
            1,
            (
                CheckpointStats(None, 9, 9_500, 5.0, "disk full"),
                CheckpointStats(4, 8, 9_000, 12.4, None, 100, 300, "/chk-4"),
            ),
            RestoredCheckpoint(1, 2, 500),
        ),
        "metrics": {
            "m": {
                0: {"topic.orders.seen": 7, "size": Summary(2, 6, 1, 5), "events": 9, "odd": [1]},
                -1: {"splits": 4},
            }
        },
        "described": {
            "m": {
                "topic.orders.seen": MetricDescription(
                    "counter", "topic.seen", {"<topic>": "orders"}
                ),
                "size": MetricDescription("histogram", "size"),
                "events": MetricDescription("meter", "events", span=10),
            }
        },
    }
    return JobDetails(**{**fields, **changes})


def by_name(measured: list[Measurement], logical: str, **variables: str) -> dict[str, object]:
    return {
        m.name: m.value
        for m in measured
        if m.scope.logical == logical
        and all(m.scope.variables[f"<{key}>"] == value for key, value in variables.items())
    }


def test_of_a_job() -> None:
    job = by_name(JobMetrics("id", "driver").of(details(), 11_000), "jobmanager.job")
    assert job["numRestarts"] == 2
    assert (job["uptime"], job["downtime"]) == (10_000, 0)
    assert (job["runningState"], job["failingState"]) == (1, 0)
    assert job["numberOfCompletedCheckpoints"] == 3
    assert job["totalNumberOfCheckpoints"] == 4
    # the newest that is complete
    assert job["lastCompletedCheckpointId"] == 4
    assert (job["lastCheckpointDuration"], job["lastCheckpointSize"]) == (12, 100)
    assert (job["lastCheckpointFullSize"], job["lastCheckpointExternalPath"]) == (300, "/chk-4")
    assert job["lastCheckpointRestoreTimestamp"] == 500
    assert "currentLowWatermark" not in job  # there is none yet


def test_of_a_job_that_has_stopped() -> None:
    ended = details(
        status=JobStatus.FAILED, since={JobStatus.RUNNING: 1_000, JobStatus.FAILED: 5_000}
    )
    job = by_name(JobMetrics("id", "driver").of(ended, 11_000), "jobmanager.job")
    assert (job["uptime"], job["downtime"], job["runningState"]) == (0, 6_000, 0)


def test_of_a_subtask() -> None:
    measured = JobMetrics("id", "driver").of(details(), 11_000)
    task = by_name(measured, "taskmanager.job.task", subtask_index="0", tm_id="worker:7")
    assert (task["numRecordsIn"], task["numRecordsOut"], task["numRecordsInPerSecond"]) == (
        100,
        50,
        20.0,
    )
    assert (task["busyTimeMsPerSecond"], task["idleTimeMsPerSecond"]) == (600.0, 300.0)
    assert (task["currentInputWatermark"], task["watermarkLag"]) == (9_000, 1_000)
    assert task["stateSize"] == 77
    times = [task[f"accumulate{load}TimeMs"] for load in ("Busy", "BackPressured", "Idle")]
    assert times == [6_000, 1_000, 3_000]


def test_of_operators_and_of_their_users() -> None:
    metrics = JobMetrics("id", "driver")
    metrics.of(details(since={JobStatus.RUNNING: 0}), 10_000)
    found = details()
    found.metrics["m"][0]["events"] = 29
    measured = metrics.of(found, 20_000)
    operator = "taskmanager.job.task.operator"
    first = by_name(measured, operator, operator_name="Map")
    assert (first["numRecordsIn"], first["numRecordsOut"]) == (100, 80)
    assert first["numRecordsInPerSecond"] == 5.0  # of 20 seconds
    assert first["currentInputWatermark"] == 9_000
    assert first["size"] == HistogramValue(2, 6, 1, 5)
    assert first["events"] == 2.0  # of its own ten seconds
    assert first["odd"] == "[1]"
    assert "currentInputWatermark" not in by_name(measured, operator, operator_name="Filter")
    (seen,) = (m for m in measured if m.name == "topic.orders.seen")
    assert (seen.kind, seen.logical_name) == (MetricKind.COUNTER, "topic.seen")
    assert seen.variables == {"<topic>": "orders"}
    driver = by_name(measured, "jobmanager.job.operator", operator_id="m")
    assert driver == {"splits": 4}


def test_details_that_were_stored_have_the_same_metrics() -> None:
    encoded = msgspec.json.encode(details(), enc_hook=dict)
    stored = msgspec.json.decode(encoded, type=JobDetails)
    known = JobMetrics("id", "driver").of(details(), 11_000)
    assert JobMetrics("id", "driver").of(stored, 11_000) == known


@pytest.mark.parametrize("worker", ["", "host:1"])
def test_a_worker_is_a_host_and_a_process(worker: str) -> None:
    found = details()
    (stage,) = found.stages
    moved = stage.subtasks[0]._replace(worker=worker)
    changed = details(
        stages=(StageDetails(stage.uid, stage.name, stage.operators, subtasks=(moved,)),)
    )
    (scope,) = {
        m.scope.variables["<host>"]
        for m in JobMetrics("id", "driver").of(changed, 0)
        if m.scope.logical == "taskmanager.job.task"
    }
    assert scope == ("host" if worker else "driver")


def test_latencies() -> None:
    latency = LatencyDetails("s1", "s1", 0, 4, 10.0, 1.0, 4.0, {0.5: 2.0, 0.99: 4.0})
    measured = JobMetrics("id", "driver").of(details(latencies=(latency,)), 11_000)
    found = [m for m in measured if m.scope.logical == "taskmanager.job"]
    assert [m.name for m in found] == [
        f"latency.source_id.m.operator_id.{uid}.operator_subtask_index.0.latency" for uid in "mf"
    ]
    assert found[0].value == HistogramValue(4, 10.0, 1.0, 4.0, {0.5: 2.0, 0.99: 4.0})
    assert found[0].scope.variables["<tm_id>"] == "worker:7"
    assert found[0].logical_name == ("latency.source_id.operator_id.operator_subtask_index.latency")


def test_a_subtask_that_is_new_since_the_last_look() -> None:
    def at(now: int, *counts: int) -> dict[tuple[str, object], object]:
        subtasks = tuple(
            SubtaskDetails(0, 0, None, "w:1", operators=(OperatorDetails(count, 0, None),))
            for count in counts
        )
        stage = StageDetails("s1", "Map", MappingProxyType({"m": "Map"}), subtasks=subtasks)
        found = metrics.of(JobDetails(since={JobStatus.RUNNING: 0}, stages=(stage,)), now)
        return {
            m.scope.variables["<subtask_index>"]: m.value
            for m in found
            if m.scope.logical.endswith("operator") and m.name == "numRecordsInPerSecond"
        }

    metrics = JobMetrics("id", host="here")
    assert at(100_000, 1_000) == {"0": 10}
    assert at(110_000, 1_000, 50) == {"0": 0, "1": 5}


def test_gauges_of_numpy_and_decimals_are_numbers() -> None:
    values = {"n": np.int64(3), "d": Decimal("1.5"), "b": True, "t": "x", "huge": 10**400}
    found = by_name(
        JobMetrics("id").of(details(metrics={"m": {0: values}}), 0), "taskmanager.job.task.operator"
    )
    assert {name: found[name] for name in ("n", "d", "b", "t")} == {
        "n": 3,
        "d": 1.5,
        "b": 1,
        "t": "x",
    }
    assert isinstance(found["huge"], str)


def test_numbers_are_finite() -> None:
    scope = MetricScope("jobmanager.job", {})
    seen = HistogramValue(2, float("nan"), 1.0, float("inf"))
    odd = Measurement(scope, "h", MetricKind.HISTOGRAM, seen, "h")
    assert dict(numbers(odd)) == {".count": 2, ".min": 1}
    assert not dict(numbers(odd._replace(value=float("nan"))))


def test_a_rate_looks_back_over_a_minute() -> None:
    rates = EventRates()
    for second in range(0, 121):
        rate = rates.of("a", second * (10 if second <= 60 else 1), second * 1_000 if second else 0)
        if second == 60:
            assert rate == 10
    assert rates.of("b", 5, 0) == 0


def test_what_counts_anew_does_not_fall() -> None:
    rates = EventRates()
    rates.of("a", 100, 0)
    assert rates.of("a", 200, 10_000) == 10
    assert rates.of("a", 10, 20_000) == 0
    assert rates.of("a", 30, 30_000) == 2


def test_counts_that_were_0_when_the_job_began() -> None:
    rates = EventRates()
    rates.began = 1_000
    assert rates.of("a", 40, 5_000) == 10
