"""An ended job is run once more: from its last checkpoint, or from its beginning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from gallery import FINISHED, RUNNING, archive

from millrace.common.errors import CheckpointError
from millrace.common.job import JobStatus
from millrace.engine.archived_job import ARCHIVE
from millrace.server.registry import Submission
from millrace.server.resources import reruns

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


def test_from_the_beginning(api, job_server, submitted, tmp_path) -> None:
    savepoint = tmp_path / "savepoint"
    savepoint.mkdir()
    (savepoint / "_metadata").write_bytes(b"x")
    prepared(job_server, f"--from-savepoint={savepoint}")
    assert api.post(PATH, json={"start": "beginning"}).json() == {
        "jobid": RUNNING, "snapshot": None,
    }  # fmt: skip
    assert submitted[0].options == (f"--from-savepoint={savepoint}",)


CONF = "--conf=execution.state-recovery"


@pytest.mark.parametrize(
    ("options", "is_owned"),
    [
        (("--from-savepoint={gone}", "--claim-mode", "CLAIM"), True),
        ((f"{CONF}.path={{gone}}", f"{CONF}.claim-mode=CLAIM"), True),
        ((f"{CONF}.path=/elsewhere", "--from-savepoint={gone}", "--claim-mode=NO_CLAIM"), False),
    ],
)
def test_from_a_beginning_that_is_gone(
    api, job_server, submitted, tmp_path, options, is_owned
) -> None:
    gone = tmp_path / "savepoint-count-6c35493a-0123456789ab"
    prepared(job_server, *(option.format(gone=gone) for option in options))
    refused = api.post(PATH, json={"start": "beginning"})
    [error] = refused.json()["errors"]
    assert (refused.status_code, submitted) == (409, [])
    assert f"began with the state of {gone}, and there is no complete savepoint" in error
    assert ("belonged to the job (claim mode CLAIM)" in error) == is_owned
    assert "Start the job from its last checkpoint" in error


def test_from_the_beginning_where_the_program_itself_names_it(
    api, job_server, submitted, tmp_path
) -> None:
    directory = prepared(job_server)
    settings = {"execution.state-recovery.path": str(tmp_path / "gone")}
    told = msgspec.structs.replace(archive(JobStatus.FINISHED), settings=settings)
    (directory / ARCHIVE).write_bytes(told.encoded())
    refused = api.post(PATH, json={"start": "beginning"})
    assert (refused.status_code, submitted) == (409, [])


@pytest.mark.parametrize("path", ["savepoints/gone", "s3://bucket/gone"])
def test_what_only_the_job_can_find_is_not_looked_for(
    api, job_server, submitted, monkeypatch, path
) -> None:
    monkeypatch.setattr(reruns, "snapshot_metadata", lambda path: pytest.fail("looked for it"))
    prepared(job_server, f"--from-savepoint={path}")
    assert api.post(PATH, json={"start": "beginning"}).json()["jobid"] == RUNNING


def test_a_mount_that_does_not_answer_refuses_nothing(
    api, job_server, submitted, monkeypatch
) -> None:
    def no_answer(path: str) -> str:
        raise CheckpointError(f"cannot read {path}: timed out") from OSError("timed out")

    monkeypatch.setattr(reruns, "snapshot_metadata", no_answer)
    prepared(job_server, "--from-savepoint=/mnt/store/savepoint")
    assert api.post(PATH, json={"start": "beginning"}).json()["jobid"] == RUNNING


def test_what_cannot_be_run_again(api, job_server, submitted) -> None:
    missing = api.post(PATH, json={"start": "beginning"})
    assert (missing.status_code, "is not there" in missing.json()["errors"][0]) == (409, True)
    prepared(job_server)
    assert "left no checkpoint" in api.post(PATH).json()["errors"][0]
    assert "has not ended" in api.post(f"/jobs/{RUNNING}/rerun").json()["errors"][0]
    assert submitted == []
