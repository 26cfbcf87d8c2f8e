"""An ended job is run once more: from its last checkpoint, or from its beginning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from gallery import FINISHED, RUNNING

from millrace.server.registry import Submission

PATH = f"/jobs/{FINISHED}/rerun"


@pytest.fixture
def submitted(job_server, monkeypatch) -> list[Submission]:
    """What the supervisor was given, instead of a process."""
    given: list[Submission] = []

    def submit(submission: Submission):
        given.append(submission)
        return job_server.registry.job(RUNNING)

    monkeypatch.setattr(job_server.supervisor, "submit", submit)
    return given


def prepared(job_server, *options: str) -> Path:
    """The ended job, whose program exists and which was given options; its directory."""
    job = job_server.registry.job(FINISHED)
    submission = replace(job.submission, options=options)
    Path(submission.program).write_text("")
    job_server.registry.put_job(replace(job, submission=submission))
    directory: Path = job_server.process(job).job_directory()
    return directory


def test_from_the_last_checkpoint(api, job_server, submitted) -> None:
    claim = "--conf=execution.state-recovery.claim-mode=CLAIM"
    options = ("--from-savepoint=/sp/old", "--claim-mode", "CLAIM", claim, "--conf=a.b=1")
    directory = prepared(job_server, *options)
    for number in (3, 12):
        (directory / f"chk-{number}").mkdir()
        (directory / f"chk-{number}" / "_metadata").write_bytes(b"x")
    (directory / "chk-13").mkdir()  # never completed
    answer = api.post(PATH, json={"start": "checkpoint"}).json()
    assert answer == {"jobid": RUNNING, "snapshot": str(directory / "chk-12")}
    [submission] = submitted
    assert submission.options == (
        "--conf=a.b=1",
        f"--from-savepoint={directory / 'chk-12'}",
        "--claim-mode",
        "CLAIM",
        "--conf=millrace.state-recovery.keep-claimed=true",
        "--allow-pickle",
    )


def test_from_the_beginning(api, job_server, submitted) -> None:
    prepared(job_server, "--from-savepoint=/sp/old")
    assert api.post(PATH, json={"start": "beginning"}).json() == {
        "jobid": RUNNING, "snapshot": None,
    }  # fmt: skip
    assert submitted[0].options == ("--from-savepoint=/sp/old",)


def test_what_cannot_be_run_again(api, job_server, submitted) -> None:
    missing = api.post(PATH, json={"start": "beginning"})
    assert (missing.status_code, "is not there" in missing.json()["errors"][0]) == (409, True)
    prepared(job_server)
    assert "left no checkpoint" in api.post(PATH).json()["errors"][0]
    assert "has not ended" in api.post(f"/jobs/{RUNNING}/rerun").json()["errors"][0]
    assert submitted == []
