"""The Spark application that a job runs in, and whether it still exists."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark import SparkContext

from millrace.engine.executor import ApplicationLostError

__all__ = ["require_application"]


def require_application(context: SparkContext) -> None:
    """Return if the application runs.

    Raises:
        ApplicationLostError: its context was stopped or its JVM has died: no epoch can run here.
    """
    if context._jsc is None:
        raise ApplicationLostError(_message("its SparkContext was stopped"))
    try:
        stopped = bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError) as error:
        raise ApplicationLostError(_message("its Java process died")) from error
    if stopped:
        raise ApplicationLostError(
            _message("its SparkContext was stopped, by the program or by the cluster")
        )


def _message(how: str) -> str:
    return (
        f"the Spark application has ended beneath the job: {how}. Start the program again; with a "
        "directory for checkpoints it resumes (--resume) where the newest one was made"
    )
