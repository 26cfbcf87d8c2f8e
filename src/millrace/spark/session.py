"""Making the Spark session that a job runs in, with the settings that matter here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from millrace.common.errors import ConfigurationError

SETTINGS: dict[str, str] = {
    # halves what a job costs on top of its tasks
    "spark.python.unix.domain.socket.enabled": "true",
    # subtasks stay where their anchor is, not where the most input happens to lie
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.speculation": "false",
    # a lost executor ends the epoch at once; the engine runs it again from accepted state
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
TASK_FAILURES = 4


def active_session() -> SparkSession | None:
    """The session of this process, if there is one."""
    return SparkSession.getActiveSession() or SparkSession._instantiatedSession


def create_session(
    name: str, parallelism: int, master: str | None = None, extra: Mapping[str, str] | None = None
) -> SparkSession:
    """The running session, or a new one: local with ``parallelism`` cores unless told otherwise.

    ``extra`` are Spark settings of the user; they win. Raises ConfigurationError without Java 17.
    """
    running = active_session()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    extra = dict(extra or {})
    master = master or extra.pop("spark.master", None)
    if master is None:
        # the second number makes local mode retry tasks, as a cluster does
        master = f"local[{max(1, parallelism)},{TASK_FAILURES}]"
    _require_java()
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**SETTINGS, **_log_settings(), **extra}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(os.environ.get("MILLRACE_SPARK_LOG_LEVEL", "ERROR"))
    return session


def _log_settings() -> dict[str, str]:
    path = os.environ.get("MILLRACE_SPARK_LOG4J")
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={path}"} if path else {}


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.path.exists(java):
        raise ConfigurationError(
            "Spark needs Java 17 or newer and none was found; install it (Debian: "
            "apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
        )
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = _major(answer.stderr + answer.stdout)
    if version is not None and version < 17:
        raise ConfigurationError(
            f"Spark needs Java 17 or newer; {java} is Java {version}. Set JAVA_HOME to a newer one"
        )


def _major(text: str) -> int | None:
    """The major version in what `java -version` prints."""
    _, quote, rest = text.partition('version "')
    if not quote:
        return None
    first, _, more = rest.partition(".")
    number = more.partition(".")[0] if first == "1" else first
    digits = "".join(c for c in number if c.isdigit())
    return int(digits) if digits else None
