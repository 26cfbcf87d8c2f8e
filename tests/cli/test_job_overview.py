"""What ``millrace info`` and ``top`` know of a job, from what it has told in its directory."""

from __future__ import annotations

from types import MappingProxyType

from msgspec.structs import replace

from millrace.cli.commands.info import _lines
from millrace.cli.job_overview import overview_of_archive
from millrace.common.job import JobStatus
from millrace.engine.archived_job import ArchivedJob, ArchivedStage, RestartSettings
from millrace.engine.job_details import JobDetails, StageDetails


def archive_of(details: JobDetails) -> ArchivedJob:
    return ArchivedJob(
        run_id="r1",
        max_parallelism=128,
        checkpoint_interval=1_000,
        stages=(ArchivedStage("count", "Count", 3),),
        restart=RestartSettings(""),
        settings={},
        details=details,
        time=90,
    )


def test_since_when_it_is_in_its_status_and_when_it_began() -> None:
    since = {JobStatus.CREATED: 10, JobStatus.RUNNING: 20, JobStatus.FAILED: 80}
    details = JobDetails("clicks", JobStatus.FAILED, MappingProxyType(since))
    overview = overview_of_archive("clicks-1", archive_of(details))
    assert (overview.status, overview.since, overview.began) == ("FAILED", 80, 10)


def test_a_stage_that_has_not_answered_yet_has_the_parallelism_of_the_graph() -> None:
    details = JobDetails("clicks", stages=(StageDetails("count", "Count", {"count": "Count"}),))
    (stage,) = overview_of_archive("clicks-1", archive_of(details)).stages
    assert (stage.name, stage.parallelism) == ("Count", 3)


def test_a_rescaled_stage_that_has_not_answered_yet_has_its_new_parallelism() -> None:
    details = JobDetails("clicks", stages=(StageDetails("count", "Count", {}, parallelism=5),))
    (stage,) = overview_of_archive("clicks-1", archive_of(details)).stages
    assert stage.parallelism == 5


def test_the_executor_and_why_the_job_has_it() -> None:
    archive = archive_of(JobDetails("clicks"))
    assert overview_of_archive("clicks-1", archive).executor == ""
    chosen = replace(archive, executor="epochs", executor_reason="the job runs in batch mode")
    overview = overview_of_archive("clicks-1", chosen)
    assert overview.executor == "epochs: the job runs in batch mode"
    assert "executor     epochs: the job runs in batch mode" in list(_lines(overview))


def test_values_are_in_one_column_also_before_there_are_stages() -> None:
    overview = overview_of_archive("clicks-1", archive_of(JobDetails("clicks")))
    _, *lines = _lines(overview)
    assert lines[-1].startswith("stages       none yet: ")
    assert [line for line in lines if line[12] != " " or line[13] == " "] == []
