"""The Spark application of a job, and the check that it still runs."""

from __future__ import annotations

from time import sleep
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from millrace.common.errors import JobExecutionError
from millrace.engine.executor import ApplicationLostError

__all__ = ["require_application", "running_application"]

POLL = 0.1
LOOKS = 50
"""Number of polls that wait for the program to stop the application, which takes a while."""


def require_application(context: SparkContext) -> None:
    """Raise unless the application runs.

    Raises:
        ApplicationLostError: the cluster stopped it or its JVM has died: no epoch can run here.
        JobExecutionError: the program itself has stopped it; it would do so again.
    """
    java: Any = context._jsc
    if java is None:
        raise _stopped_by_program()
    try:
        stopped = bool(java.sc().isStopped())
    except (Py4JError, OSError) as error:
        raise ApplicationLostError(_message("its Java process died")) from error
    if not stopped:
        return
    for _ in range(LOOKS):
        if context._jsc is None:
            raise _stopped_by_program()
        sleep(POLL)
    raise ApplicationLostError(_message("its SparkContext was stopped, by the cluster"))


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
