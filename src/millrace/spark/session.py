"""Creation of a job's Spark application, with the settings that millrace needs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from millrace.spark.gateway import LEVEL_VARIABLE, LOG_VARIABLE, ensure_gateway
from millrace.spark.version_gaps import log_gaps
from millrace.spark.worker_python import require_worker_python

SETTINGS: dict[str, str] = {
    # halves what a job costs on top of its tasks
    "spark.python.unix.domain.socket.enabled": "true",
    # subtasks stay where their anchor is, not where the most input happens to lie
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.speculation": "false",
    # a worker that dies of a signal tells where it was
    "spark.python.worker.faulthandler.enabled": "true",
    # a lost executor ends the epoch at once; the engine runs it again from accepted state
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
}
LOOPBACK: dict[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Settings for executors on this machine, which make them independent of its name and networks."""
ON_YARN: dict[str, str] = {
    # sockets would be below a container's directory, whose path is longer than a socket's may be
    "spark.python.unix.domain.socket.enabled": "false",
}
PRELOADED: dict[str, str] = {"spark.python.daemon.module": "millrace.spark.worker_daemon"}
"""Settings for workers on this machine, which find Millrace where this process has found it."""
TASK_FAILURES = 4
SHARED_TASK_FAILURES = 8
"""Losses of one task before Spark ends its job, in an application whose jobs run on resident
tasks or on epochs: a function that kills its worker must not be tried for ever."""
RESIDENT_TASK_FAILURES = 1_000_000
"""Losses of one resident task before Spark ends the job of all: the count is for the life of the
job, which may be months."""
_ON_THIS_MACHINE = ("local", "spark://127.0.0.1:", "spark://localhost:")


def active_context() -> SparkContext | None:
    """The application of this process, if there is one."""
    return SparkContext._active_spark_context


def create_context(
    name: str,
    parallelism: int,
    master: str | None = None,
    extra: Mapping[str, str] | None = None,
    spare: int = 0,
    failures: int = TASK_FAILURES,
) -> SparkContext:
    """The running application, or a new one. By default a new one is local, with up to
    ``parallelism`` cores. It has no SparkSession, because jobs need none and it takes seconds to
    make.

    ``extra`` are Spark settings of the user; they win. ``spare`` is the number of further slots of
    a local application, ``failures`` the losses of one of its tasks that end a Spark job. Raises
    ConfigurationError without Java 17.
    """
    running = active_context()
    if running is not None:
        return running
    extra = dict(extra or {})
    here = local_master(parallelism, spare, failures)
    extra["spark.master"] = master or extra.get("spark.master") or here
    settings = spark_settings(extra)
    _quieten_py4j()
    ensure_gateway(settings)
    if settings["spark.master"].startswith("local"):
        require_worker_python()
    conf = SparkConf().setAll(list(settings.items())).setAppName(name)
    context = SparkContext(conf=conf)
    context.setLogLevel(_log_level())
    log_gaps(pyspark.__version__)
    return context


def adopt_session() -> None:
    """Make the session of this process the active one of this thread, unless the thread has one.

    In the JVM, a session is active in the thread that has made it. So the program would not find a
    session that a thread of a job has made.
    """
    session, context = SparkSession._instantiatedSession, active_context()
    if session is None or context is None or context._jvm is None:
        return
    with suppress(Py4JError, OSError):  # whoever uses the session is told that the JVM has gone
        sessions: Any = getattr(context._jvm, "org.apache.spark.sql.classic.SparkSession")
        if not sessions.getActiveSession().isDefined():
            sessions.setActiveSession(session._jsparkSession)


def current_session() -> SparkSession:
    """The session of this process, created if there is none. It becomes the active session of this
    thread.
    """
    session = SparkSession.builder.getOrCreate()
    adopt_session()
    return session


def create_session(
    name: str, parallelism: int, master: str | None = None, extra: Mapping[str, str] | None = None
) -> SparkSession:
    """A session in the application of `create_context`, for callers that need DataFrames."""
    return SparkSession(create_context(name, parallelism, master, extra))


def local_master(
    parallelism: int | None = None, spare: int = 0, failures: int = TASK_FAILURES
) -> str:
    """Master URL of this machine, with as many cores as subtasks can use (None for all cores), and
    ``spare`` slots in addition. As on a cluster, a failed task is tried again, until it has failed
    ``failures`` times.
    """
    cores = os.cpu_count() or 1
    if parallelism:
        cores = min(parallelism, cores)
    elif not spare:
        return f"local[*,{failures}]"
    return f"local[{cores + spare},{failures}]"


def spark_settings(extra: Mapping[str, str]) -> dict[str, str]:
    """All settings of an application, for the JVM as well as for the context.

    Workers get the interpreter of this process.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    master = extra.get("spark.master") or local_master()
    here = LOOPBACK if master.startswith(_ON_THIS_MACHINE) else {}
    if here and extra.get("spark.ui.enabled") == "true":
        # Spark's UI follows no setting: without the variable it listens at all addresses
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK["spark.driver.bindAddress"])
    here = ON_YARN if master.startswith("yarn") else here
    # files that come with `--py-files` are found by workers, not by their daemon
    if master.startswith("local") and os.path.isfile(__file__):
        here = {**here, **PRELOADED}
    return {**SETTINGS, **here, **extra, "spark.master": master}


def _quieten_py4j() -> None:
    """Silence py4j's log messages about closed connections."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _log_level() -> str:
    # on a terminal, what matters of Spark's errors is in ours
    default = "WARN" if LOG_VARIABLE in os.environ else "FATAL"
    return os.environ.get(LEVEL_VARIABLE, default)
