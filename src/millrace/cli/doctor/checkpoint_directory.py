"""Checks that driver and workers read and write the same checkpoint directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok
from millrace.cli.printing import plural
from millrace.common.errors import UnsupportedFileSystemSchemeError
from millrace.filesystem.location import is_local
from millrace.filesystem.trial import StorageTrial

if TYPE_CHECKING:
    from millrace.spark.worker_survey import WorkerReport

CHECK = "checkpoint directory"


def begin_trial(directory: str) -> StorageTrial | Diagnosis:
    """A trial of the checkpoint directory in which workers take part, or the driver's own
    problem with the directory."""
    try:
        return StorageTrial.begin(directory)
    except UnsupportedFileSystemSchemeError as error:
        return failure(CHECK, str(error), "Name a directory in a supported file system.")
    except Exception as error:  # libraries of object stores have errors of their own
        problem = f"{directory} cannot be written: {_line(error)}"
        return failure(CHECK, problem, _fix(directory))


def check_trial(directory: str, trial: StorageTrial, reports: Sequence[WorkerReport]) -> Diagnosis:
    """Judge a trial by the reports of the workers."""
    for report in reports:
        if report.trial_error is not None:
            return failure(
                CHECK, f"{directory} on {report.host}: {report.trial_error}", _fix(directory)
            )
    try:
        for report in reports:
            trial.verify(report.trial_name)
        trial.verify_conditions()
    except Exception as error:
        return failure(CHECK, f"{directory} in the driver: {_line(error)}", _fix(directory))
    return ok(CHECK, f"{directory}: driver and {plural(len(reports), 'worker')} share it")


def _fix(directory: str) -> str:
    if is_local(directory):
        return (
            "Mount one shared file system at this path on every machine, writable for the "
            "workers' user, or name an object store or HDFS."
        )
    return (
        "Give driver and workers the credentials, the endpoint and the rights to read, write and "
        "delete there; the store must support conditional writes."
    )


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
