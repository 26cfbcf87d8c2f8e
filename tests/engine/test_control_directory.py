"""Where a job is operated from, if its checkpoints are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.common.job import JobStatus
from millrace.engine.control_directory import ObservedInControlDirectory, control_directory
from millrace.engine.job_observer import JobObserver
from millrace.engine.job_record import RecordedRun, read_record
from millrace.runtime.epoch import Ack
from millrace.state.checkpoint.manifest import Manifest

COMPLETE = Manifest(
    job_name="count",
    checkpoint=7,
    epoch=9,
    timestamp=1_000,
    max_parallelism=128,
    stages={},
    operators={},
    versions={},
    sources={},
    pending={},
)
REMOTE = "s3://bucket/checkpoints/count-11aa22bb"


class Noting(JobObserver):
    def __init__(self) -> None:
        self.heard: list[object] = []

    def started(self, job_dir: str) -> None:
        assert Path(job_dir).is_dir()
        self.heard.append(job_dir)

    def accepted(self, acks: Sequence[Ack]) -> None:
        self.heard.append("accepted")

    def committed(self, manifest: Manifest) -> None:
        self.heard.append(manifest.checkpoint)

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        self.heard.append(status)

    def closed(self) -> None:
        self.heard.append("closed")


def test_beside_local_checkpoints(tmp_path: Path) -> None:
    job_dir = str(tmp_path / "count-11aa22bb")
    assert control_directory(job_dir) == job_dir
    assert control_directory(job_dir, str(tmp_path)) == job_dir
    assert control_directory(job_dir, tmp_path.as_uri()) == job_dir


def test_jobs_of_one_name_in_different_places_have_their_own(tmp_path: Path) -> None:
    assert control_directory(REMOTE) is None
    places = (REMOTE, REMOTE.replace("bucket", "other"), "/data/count-11aa22bb")
    found = {control_directory(place, str(tmp_path)) for place in places}
    assert len(found) == 3
    assert {Path(str(one)).parent for one in found} == {tmp_path}


def test_observers_hear_of_the_control_directory(tmp_path: Path) -> None:
    observer = Noting()
    directory = str(tmp_path / "made" / "count")
    observed = ObservedInControlDirectory(directory, [observer])
    observed.started(REMOTE)
    observed.accepted([])
    observed.committed(COMPLETE)
    observed.ended(JobStatus.FINISHED, None)
    observed.closed()
    assert observer.heard == [directory, "accepted", 7, JobStatus.FINISHED, "closed"]
    assert Path(directory).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("finished", [True, False])
def test_the_record_says_where_the_checkpoints_are_and_whether_all_was_read(
    tmp_path: Path, finished: bool
) -> None:
    run = RecordedRun("count", "count-11aa22bb", "run-1", "job.py", REMOTE)
    observed = ObservedInControlDirectory(str(tmp_path), [run])
    observed.started(REMOTE)
    begun = read_record(tmp_path)
    assert begun is not None
    assert (begun.checkpoints, begun.input_ended) == (REMOTE, None)
    observed.committed(replace(COMPLETE, finished=finished))
    observed.ended(JobStatus.FINISHED, None)
    ended = read_record(tmp_path)
    assert ended is not None
    assert (ended.checkpoints, ended.input_ended) == (REMOTE, finished)
