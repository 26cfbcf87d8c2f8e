"""What is told of changes of a job's parallelism."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from gallery import BEGUN, NEW, RUNNING, archive, rescale

from millrace.common.job import JobStatus
from millrace.engine.archived_job import ARCHIVE
from millrace.engine.job_details import RescaleStatus
from millrace.server.observed_job import vertex_id

SOURCE = vertex_id("source")
PATH = f"/jobs/{RUNNING}/rescales"


def test_history(api) -> None:
    under_way, failed, ignored, completed = api.get(f"{PATH}/history").json()
    assert [each["rescaleAttemptId"] for each in (under_way, failed, ignored, completed)] == [
        4, 3, 2, 1,
    ]  # fmt: skip
    assert completed["vertices"][SOURCE] == {
        "jobVertexId": SOURCE,
        "jobVertexName": "Source: clicks",
        "slotSharingGroupName": "default",
        "desiredParallelism": 2,
        "sufficientParallelism": 1,
        "preRescaleParallelism": 1,
        "postRescaleParallelism": 2,
    }
    assert (completed["startTimestampInMillis"], completed["endTimestampInMillis"]) == (
        BEGUN + 1_000, BEGUN + 1_200,
    )  # fmt: skip
    ends = [(each["terminalState"], each["terminatedReason"]) for each in (completed, ignored)]
    assert ends == [
        ("COMPLETED", "SUCCEEDED"), ("IGNORED", "NO_RESOURCES_OR_PARALLELISMS_CHANGE"),
    ]  # fmt: skip
    assert (failed["terminalState"], failed["failureCause"]) == (
        "FAILED", "parallelism 999 is above 128",
    )  # fmt: skip
    assert failed["vertices"][SOURCE]["postRescaleParallelism"] is None
    assert (under_way["terminalState"], under_way["endTimestampInMillis"]) == (None, None)
    assert under_way["vertices"][SOURCE]["desiredParallelism"] == 5
    assert api.get(f"/jobs/{NEW}/rescales/history").json() == []


def test_overview(api) -> None:
    found = api.get(f"{PATH}/overview").json()
    assert found["rescalesCounts"] == {"ignored": 1, "inProgress": 1, "completed": 1, "failed": 1}
    numbers = {status: each["rescaleAttemptId"] for status, each in found["latest"].items()}
    assert numbers == {"completed": 1, "failed": 3, "ignored": 2}
    none = api.get(f"/jobs/{NEW}/rescales/overview").json()
    assert none["latest"] == {"completed": None, "failed": None, "ignored": None}


def test_details(api) -> None:
    newest = api.get(f"{PATH}/history").json()[0]
    found = api.get(f"{PATH}/details/{newest['rescaleUuid']}").json()
    assert found == {**newest, "schedulerStates": []}
    assert api.get(f"{PATH}/details/{'f' * 32}").status_code == 404
    assert api.get(f"{PATH}/details/x").status_code == 400


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (JobStatus.FINISHED, "JOB_FINISHED"),
        (JobStatus.CANCELED, "JOB_CANCELING"),
        (JobStatus.SUSPENDED, "JOB_CANCELING"),
        (JobStatus.FAILED, "JOB_FAILING"),
    ],
)
def test_what_the_end_of_the_job_overtook(api, job_server, end: JobStatus, reason: str) -> None:
    overtaken = rescale(1, 3, 3, RescaleStatus.IGNORED, "the job has ended before it could")
    known = archive(end)
    ended = msgspec.structs.replace(known, details=replace(known.details, rescales=(overtaken,)))
    path = next((job_server.settings.jobs / RUNNING).glob(f"*/{ARCHIVE}"))
    path.write_bytes(ended.encoded())
    (told,) = api.get(f"{PATH}/history").json()
    assert (told["terminalState"], told["terminatedReason"]) == ("IGNORED", reason)
