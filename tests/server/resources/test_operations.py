"""Asking jobs to do things, as Flink's clients do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from gallery import FAILED, NEW, RUNNING

from millrace.common.job import JobStatus
from millrace.engine.control_mailbox import Mailbox, MailboxAnswer, RunNote


@pytest.fixture
def mailbox(job_server):
    """The mailbox of the job that runs."""
    place = next((job_server.settings.jobs / RUNNING).glob("clicks-*"))
    box = Mailbox(place)
    with box.open_for(RunNote("r1", "clicks", place.name, "host", 1, 0)):
        yield box


def answer(mailbox: Mailbox, state: str = "done", **fields: object) -> tuple[str, dict]:
    (request,) = mailbox.requests()
    mailbox.take(request.id)
    mailbox.answer(MailboxAnswer(request.id, state, **fields))
    return request.command, request.arguments


def test_a_checkpoint(api, mailbox) -> None:
    asked = api.post(f"/jobs/{RUNNING}/checkpoints", json={"checkpointType": "CONFIGURED"})
    assert asked.status_code == 202
    where = f"/jobs/{RUNNING}/checkpoints/{asked.json()['request-id']}"
    assert api.get(where).json() == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    assert answer(mailbox, result={"checkpoint": 12}) == ("checkpoint", {})
    assert api.get(where).json() == {
        "status": {"id": "COMPLETED"},
        "operation": {"checkpointId": 12, "failureCause": None},
    }
    assert api.get(where.replace("checkpoints", "savepoints")).status_code == 404


def test_a_checkpoint_that_fails(api, mailbox) -> None:
    asked = api.post(f"/jobs/{RUNNING}/checkpoints", json={"triggerId": "e" * 32})
    assert asked.json()["request-id"] == "e" * 32
    answer(mailbox, "failed", error="the job has ended")
    found = api.get(f"/jobs/{RUNNING}/checkpoints/{'e' * 32}").json()["operation"]
    assert found["checkpointId"] is None
    assert found["failureCause"]["stack-trace"] == "the job has ended"


def test_a_savepoint(api, mailbox) -> None:
    asked = api.post(f"/jobs/{RUNNING}/savepoints", json={"target-directory": "/s"})
    assert asked.status_code == 202
    where = f"/jobs/{RUNNING}/savepoints/{asked.json()['request-id']}"
    assert api.get(where).json() == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    command = answer(mailbox, result={"savepoint": "/s/1"})
    assert command == ("savepoint", {"directory": "/s", "format": "canonical"})
    assert api.get(where).json() == {
        "status": {"id": "COMPLETED"},
        "operation": {"location": "/s/1"},
    }
    assert api.get(where.replace("savepoints", "rescaling")).status_code == 404
    assert api.get(where.replace(RUNNING, FAILED)).status_code == 404


def test_a_savepoint_that_fails(api, mailbox) -> None:
    body = {"formatType": "NATIVE", "triggerId": "c" * 32}
    asked = [api.post(f"/jobs/{RUNNING}/savepoints", json=body) for _ in range(2)]
    assert [each.json()["request-id"] for each in asked] == ["c" * 32] * 2
    other = api.post(f"/jobs/{RUNNING}/stop", json={"triggerId": "c" * 32})
    assert (other.status_code, "is a savepoint of" in other.json()["errors"][0]) == (409, True)
    answer(mailbox, "failed", error="the disk is full")
    found = api.get(f"/jobs/{RUNNING}/savepoints/{'c' * 32}").json()
    assert found["operation"]["failure-cause"]["stack-trace"] == "the disk is full"


@pytest.mark.parametrize(
    ("path", "body", "drain"),
    [
        ("stop", {"targetDirectory": "/s", "drain": True}, True),
        ("savepoints", {"target-directory": "/s", "cancel-job": True}, False),
    ],
)
def test_stop(api, job_server, mailbox, path, body, drain) -> None:
    """It is complete when the job has ended, so that its successor can be started."""
    asked = api.post(f"/jobs/{RUNNING}/{path}", json=body)
    assert asked.status_code == 202
    command, arguments = answer(mailbox, result={"savepoint": "/s/1"})
    assert command == "stop"
    assert arguments == {
        "savepoint": True, "directory": "/s", "drain": drain, "format": "canonical",
    }  # fmt: skip
    where = f"/jobs/{RUNNING}/savepoints/{asked.json()['request-id']}"
    assert api.get(where).json()["status"]["id"] == "IN_PROGRESS"
    registry = job_server.registry
    registry.put_job(replace(registry.job(RUNNING), status=JobStatus.FINISHED))
    assert api.get(where).json()["operation"]["location"] == "/s/1"


def test_rescaling(api, mailbox) -> None:
    asked = api.patch(f"/jobs/{RUNNING}/rescaling?parallelism=3")
    assert asked.status_code == 200
    assert answer(mailbox, result={"parallelism": 3}) == ("rescale", {"parallelism": 3})
    where = f"/jobs/{RUNNING}/rescaling/{asked.json()['triggerid']}"
    assert api.get(where).json() == {"status": {"id": "COMPLETED"}, "operation": {}}


def test_a_message_is_for_those_who_may_upload(api, job_server, mailbox) -> None:
    """It may have functions called at other endpoints, as another program would."""
    body = {"operator": "statefun-module", "message": "[]"}
    refused = api.post(f"/jobs/{RUNNING}/messages", json=body)
    assert refused.status_code == 403
    assert "--allow-uploads" in refused.json()["errors"][0]
    job_server.settings = replace(job_server.settings, allow_uploads=True)
    asked = api.post(f"/jobs/{RUNNING}/messages", json=body)
    assert asked.status_code == 202
    assert answer(mailbox, result={"checkpoint": 4}) == ("message", body)
    found = api.get(f"/jobs/{RUNNING}/messages/{asked.json()['request-id']}").json()
    assert found["operation"]["checkpointId"] == 4


def test_cancel(api, job_server) -> None:
    assert api.patch(f"/jobs/{RUNNING}").status_code == 202
    assert api.patch(f"/jobs/{RUNNING}?mode=stop").status_code == 400
    assert api.patch(f"/jobs/{FAILED}?mode=cancel").status_code == 409
    assert api.patch(f"/jobs/{NEW}?mode=cancel").status_code == 202
    job_server.supervisor.look()
    assert job_server.registry.job(RUNNING).status is JobStatus.CANCELED


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"/jobs/{FAILED}/savepoints", {}, 409),
        ("POST", f"/jobs/{FAILED}/stop", {}, 409),
        ("POST", f"/jobs/{FAILED}/checkpoints", {}, 409),
        ("POST", f"/jobs/{RUNNING}/checkpoints", {"checkpointType": "FULL"}, 400),
        ("GET", f"/jobs/{RUNNING}/checkpoints/{'d' * 32}", None, 404),
        ("POST", f"/jobs/{RUNNING}/savepoints", {"target-directory": "relative"}, 400),
        ("POST", f"/jobs/{RUNNING}/savepoints", {"triggerId": "short"}, 400),
        ("POST", f"/jobs/{RUNNING}/savepoints", {"formatType": "OTHER"}, 400),
        ("PATCH", f"/jobs/{RUNNING}/rescaling", None, 400),
        ("PATCH", f"/jobs/{RUNNING}/rescaling?parallelism=0", None, 400),
        ("PATCH", f"/jobs/{RUNNING}/rescaling?parallelism=x", None, 400),
        ("GET", f"/jobs/{RUNNING}/savepoints/{'d' * 32}", None, 404),
        ("POST", "/savepoint-disposal", {}, 400),
    ],
)
def test_what_cannot_be_done(api, method, path, body, status) -> None:
    found = api.request(method, path, json=body)
    assert (found.status_code, list(found.json())) == (status, ["errors"])


def test_bodies_that_are_too_long_or_no_json(api) -> None:
    path = f"/jobs/{RUNNING}/stop"
    assert api.post(path, content=b"{" * 100_000).status_code == 400
    assert api.post(path, content=b" " * (2 << 20)).status_code == 413


def test_disposal(api, eventually, tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    asked = api.post("/savepoint-disposal", json={"savepoint-path": str(tmp_path / "keep")})
    where = f"/savepoint-disposal/{asked.json()['request-id']}"
    eventually(lambda: api.get(where).json()["status"]["id"] == "COMPLETED")
    assert "failure-cause" in api.get(where).json()["operation"]
    assert (tmp_path / "keep").is_dir()


def test_the_end_of_the_server(api, job_server) -> None:
    ended: list[bool] = []
    job_server.end = lambda: ended.append(True)
    assert api.delete("/cluster").json() == {}
    assert ended == [True]
