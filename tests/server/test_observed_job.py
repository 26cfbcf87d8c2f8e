"""A job as the server shows it."""

from __future__ import annotations

from typing import Any

from gallery import archive
from msgspec.structs import replace

from millrace.engine.job_details import JobDetails, StageDetails
from millrace.server.observed_job import ObservedJob


def test_a_rescaled_job_shows_its_parallelism_before_the_next_epoch() -> None:
    """Not the one with which it began: a client may ask as soon as the rescaling is complete."""
    job: Any = None  # the registry's part
    stages = (StageDetails("source", "Source", {}, parallelism=3), StageDetails("count", "", {}))
    told = replace(archive(), details=JobDetails("clicks", stages=stages))
    assert [vertex.parallelism for vertex in ObservedJob(job, told, 0).vertices] == [3, 1]
