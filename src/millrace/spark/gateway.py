"""The JVM of Spark's driver. It is started early, and does not write to the terminal."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event, Thread
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from millrace.common.errors import ConfigurationError
from millrace.spark.class_archive import OWN_OPTIONS, with_archive
from millrace.spark.connect.remote import VARIABLE
from millrace.spark.error_filter import filtered_errors
from millrace.spark.java_version import find_java

LOG_VARIABLE = "MILLRACE_SPARK_LOG"
"""Environment variable with the path of the file for the output of the JVM and its Python workers;
unset for the terminal."""
LEVEL_VARIABLE = "MILLRACE_SPARK_LOG_LEVEL"
"""Environment variable with Spark's log level, such as WARN; if unset, Spark logs hardly anything
on a terminal."""
EXECUTOR_OPTIONS = "spark.executor.defaultJavaOptions"
"""Setting for Millrace's own options of the executors' JVMs, which come before those of the user.
In local mode there are none, and the driver's JVM does their work."""
_USERS_OPTIONS = "spark.driver.extraJavaOptions"
_SEPARATOR = re.compile(r"[\s=:]+")
"""Between a key and its value in a file of properties."""
_UNCAUGHT = re.compile(r'^Exception in thread "main" [\w.$]+: (.+)$', re.MULTILINE)
"""The line of a JVM whose main method fails."""
_HERE = os.path.dirname(os.path.abspath(__file__))
_QUIET = os.path.join(_HERE, "quiet_log4j2.properties")
_BESIDE = os.path.join(_HERE, "spark_log4j2.properties")
_LATE_OPTIMIZATION = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000 "
    "-XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
)
"""Thresholds for Java's second compiler, twenty times Java's defaults."""


def launch_early(settings: Mapping[str, str]) -> None:
    """Start the JVM with Spark settings in a thread, so that the caller can continue. The first
    SparkContext waits for the JVM, and reports a failure.
    """
    locked = Event()

    def launch() -> None:
        with SparkContext._lock:
            locked.set()
            with suppress(ConfigurationError):
                ensure_gateway(settings)

    Thread(target=launch, name="millrace-jvm", daemon=True).start()
    locked.wait()


def preload() -> None:
    """Import the modules that PySpark imports for a context, such as pandas if it is installed,
    while the JVM boots."""
    import_module("pyspark.testing.utils")


def ensure_gateway(settings: Mapping[str, str]) -> None:
    """Start the JVM unless it already runs.

    Raises:
        ConfigurationError: the JVM does not start, for example because Java is missing or too old.
    """
    with SparkContext._lock:
        if SparkContext._gateway is not None:
            return
        require_no_remote()
        wanted = with_archive(with_late_optimization(with_quiet_log(with_file_options(settings))))
        conf = SparkConf(loadDefaults=False).setAll(list(wanted.items()))
        path = os.environ.get(LOG_VARIABLE)
        begin = os.path.getsize(path) if path is not None and os.path.exists(path) else 0
        with _output() as streams:
            try:
                started = JvmProcess(streams)
                gateway = launch_gateway(conf, started)  # type: ignore[no-untyped-call]
            except (PySparkException, OSError) as error:
                _require_java()
                raise ConfigurationError(_not_started(path, begin)) from error
        SparkContext._ensure_initialized(gateway=gateway)


class JvmProcess(dict[str, Any]):
    """Arguments of `subprocess.Popen` with which the JVM does not receive signals that are sent to
    the driver.

    Terminals, ``timeout`` and systemd send a signal to everything that the driver has started. The
    driver answers it by a stop with a checkpoint, for which it needs the JVM. So this gets a
    session of its own, and ignores SIGTERM. It ends when its standard input does: with the driver,
    however that ends.
    """

    def __init__(self, streams: Mapping[str, Any]) -> None:
        super().__init__(streams, start_new_session=True)

    def __setitem__(self, name: str, value: Any) -> None:
        # PySpark has the JVM ignore SIGINT in this way; Java leaves alone what is ignored
        super().__setitem__(name, _ignoring_sigterm(value) if name == "preexec_fn" else value)


def _ignoring_sigterm(before: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        before()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    return run


def with_quiet_log(
    settings: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Spark settings for a quiet log. On a terminal, the JVM prints neither its greeting nor
    warnings about this machine. If millrace logs to a file, the JVM logs to another file in the
    same directory, so that the output of functions stays readable. A user's own log settings
    stay."""
    own = settings.get(OWN_OPTIONS, "")
    home = _configuration_directory(environment)
    set_up = "log4j" in own + settings.get(_USERS_OPTIONS, "") or os.path.exists(
        os.path.join(home, "log4j2.properties")
    )
    to_file = LOG_VARIABLE in environment
    wanted = LEVEL_VARIABLE in environment and not to_file
    if set_up or wanted or " " in _HERE:  # options are split at blanks
        return dict(settings)
    chosen = _BESIDE if to_file else _QUIET
    return {**settings, OWN_OPTIONS: f"-Dlog4j2.configurationFile={chosen} {own}".rstrip()}


def with_late_optimization(settings: Mapping[str, str]) -> dict[str, str]:
    """Spark settings with which Java's second compiler optimises only methods that run very often,
    in the JVMs of the driver and of the executors.

    The JVM hands big buffers from worker to worker. Its methods reach Java's own thresholds in the
    first minute, and to optimise them takes more processor time than all that they do meanwhile,
    while Python workers wait for a core. Loops over the rows of a DataFrame reach these
    thresholds, too, within a fraction of a second. Options of the user come later, and win.
    """
    made = dict(settings)
    for key in (OWN_OPTIONS, EXECUTOR_OPTIONS):
        made[key] = f"{_LATE_OPTIMIZATION} {settings.get(key, '')}".rstrip()
    return made


def with_file_options(
    settings: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Spark settings with the default JVM options of ``spark-defaults.conf``, which the settings of
    a program would replace."""
    path = os.path.join(_configuration_directory(environment), "spark-defaults.conf")
    try:
        with open(path, encoding="utf-8") as file:
            lines = [_SEPARATOR.split(line.strip(), maxsplit=1) for line in file]
    except (OSError, UnicodeDecodeError):
        return dict(settings)
    pairs = (line for line in lines if len(line) == 2)
    kept = {key: value for key, value in pairs if key in (OWN_OPTIONS, EXECUTOR_OPTIONS)}
    return {**kept, **settings}


def _configuration_directory(environment: Mapping[str, str]) -> str:
    """Directory of Spark's configuration files."""
    home = environment.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    return environment.get("SPARK_CONF_DIR") or os.path.join(home, "conf")


@contextmanager
def _output() -> Iterator[dict[str, Any]]:
    path = os.environ.get(LOG_VARIABLE)
    if path is not None:
        with open(path, "ab") as log:
            yield {"stdout": log, "stderr": log}
        return
    with filtered_errors() as errors:
        yield {"stderr": errors}


def require_no_remote(environment: Mapping[str, str] = os.environ) -> None:
    """Raise ConfigurationError if PySpark is configured for Spark Connect, which has no RDDs."""
    remote = environment.get(VARIABLE)
    if remote:
        raise ConfigurationError(
            f"the environment variable {VARIABLE} ({remote.partition(';')[0]!r}) has PySpark use "
            "Spark Connect, and this needs Spark's driver in this process: over Spark Connect, "
            "only streaming jobs run. Unset it, and name the cluster with --master or spark.master"
        )


def _not_started(path: str | None, begin: int) -> str:
    if path is None:
        return "Spark's Java process did not start; its output is above"
    with open(path, "rb") as log:
        log.seek(begin)
        reason = reason_of_java(log.read().decode(errors="replace"))
    return (
        f"Spark's Java process did not start{reason and f': {reason}'}; what it said is in {path}"
    )


def reason_of_java(output: str) -> str:
    """The line in the output of a JVM that says why it ended; empty if there is none.

    Example:
        >>> reason_of_java("WARNING: old\\nUnrecognized VM option 'Xq'\\nError: no JVM was created")
        "Unrecognized VM option 'Xq'"
    """
    thrown = _UNCAUGHT.search(output)
    if thrown is not None:
        return thrown[1].strip()
    lines = (line.strip() for line in output.splitlines())
    return next((line for line in lines if line and not line.upper().startswith("WARN")), "")


def _require_java() -> None:
    """Raise ConfigurationError unless there is a Java that Spark can use."""
    problem = find_java().problem()
    if problem is not None:
        raise ConfigurationError(problem)
