"""The Spark application of a job, and the check that it still runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from millrace.common.errors import ConfigurationError, JobExecutionError
from millrace.engine.executor import ApplicationLostError, ExecutorError

__all__ = ["require_application", "running_application", "submission_to"]

POLL = 0.1
_STOPPED = "its SparkContext was stopped"
_DIED = "its Java process died"
LOOKS = 50
"""Number of polls that wait for the program to stop the application, which takes a while."""


def require_application(context: SparkContext) -> None:
    """Check that the application runs.

    Raises:
        ApplicationLostError: the cluster stopped it or its JVM has died: no epoch can run here.
        JobExecutionError: the program itself has stopped it; it would do so again.
    """
    if context._jsc is None:
        raise _stopped_by_program()
    end = _end_of(context)
    if end is None:
        return
    if end is not _STOPPED:
        raise ApplicationLostError(_message(end))
    for _ in range(LOOKS):
        if context._jsc is None:
            raise _stopped_by_program()
        sleep(POLL)
    raise ApplicationLostError(_message(f"{_STOPPED}, by the cluster"))


@contextmanager
def submission_to(context: SparkContext) -> Iterator[None]:
    """Context in which a job is submitted to the application. An error that the end of the
    application causes is replaced by an error about this end.

    Raises:
        JobExecutionError: the application has ended. The message says how, and what to do.
    """
    try:
        yield
    except (
        *(Py4JError, PySparkException, OSError),
        *(ExecutorError, ConfigurationError),  # of methods that have replaced one of these
    ) as error:
        end = _end_of(context)
        if end is None:
            raise
        restart = "Start the program again; in a notebook, restart the kernel"
        if end is _STOPPED:
            restart = (
                "Call SparkContext.getOrCreate().stop() in this program, and submit the job again; "
                "or start the program again"
            )
        raise JobExecutionError(
            "the job was not submitted: the Spark application of this program has ended, as "
            f"{end}. {restart}"
        ) from error


def _end_of(context: SparkContext) -> str | None:
    """End of the application, in words. None while it runs."""
    java: Any = context._jsc
    if java is None:
        return _STOPPED
    try:
        return _STOPPED if java.sc().isStopped() else None
    except (Py4JError, OSError):
        return _DIED


def _stopped_by_program() -> JobExecutionError:
    return JobExecutionError(
        "the program itself has stopped the Spark application beneath the job, by stop() of its "
        "SparkSession or SparkContext. Stop it only after the job has ended, such as after "
        "env.execute() or job_client.get_job_execution_result().result()"
    )


def _message(how: str) -> str:
    return (
        f"the Spark application has ended beneath the job: {how}. Start the program again; with a "
        "directory for checkpoints it resumes (--resume) where the newest one was made"
    )


def running_application(context: SparkContext) -> Any:
    """The application as Spark's JVM has it.

    Raises:
        Py4JError: the program has stopped the application.
    """
    java: Any = context._jsc
    if java is None:
        raise Py4JError("the program has stopped the Spark application")
    return java.sc()
