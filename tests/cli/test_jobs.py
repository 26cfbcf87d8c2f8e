"""Jobs by all the names that people give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.cli.jobs import find_job, jobs_in
from millrace.common.errors import JobControlError
from millrace.common.job import JobID
from millrace.engine.job_identity import job_id_of
from millrace.engine.lease import Lease


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Two jobs that never made a checkpoint, and a directory that is none."""
    for name in ("word count", "word count (2)"):
        Lease.acquire(tmp_path / job_id_of(name), "run").release()
    (tmp_path / "lost+found").mkdir()
    return tmp_path


def test_only_jobs(jobs: Path) -> None:
    assert [job.state for job in jobs_in(jobs)] == ["stopped"] * 2
    assert list(jobs_in(jobs / "none")) == []


def test_names(jobs: Path) -> None:
    id = job_id_of("word count")
    for word in (id, id[:-2], str(jobs / id)):
        assert find_job(jobs, word).id == id


def test_the_name_and_the_id_in_programs(jobs: Path) -> None:
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.testing import run_local

    with run_local(checkpoint_dir=str(jobs)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).print()
        env.execute("my job")
    for word in ("my job", str(JobID.from_name("my job")), job_id_of("my job")):
        assert find_job(jobs, word).name == "my job"


def test_several_and_none(jobs: Path) -> None:
    with pytest.raises(JobControlError, match="'word-count' could be .* or .*; name the id"):
        find_job(jobs, "word-count")
    with pytest.raises(JobControlError, match=f"in {jobs}; did you mean 'word-count-"):
        find_job(jobs, "word-cont-1")
    with pytest.raises(JobControlError, match="there is no job 'x'"):
        find_job(jobs, "x")


@pytest.mark.parametrize("word", ["", "o", "onl"])
def test_a_few_characters_are_no_name(tmp_path: Path, word: str) -> None:
    """Though there is but one job that they could mean."""
    Lease.acquire(tmp_path / job_id_of("only"), "run").release()
    with pytest.raises(JobControlError, match="there is no job"):
        find_job(tmp_path, word)
    assert find_job(tmp_path, "only").id == job_id_of("only")
