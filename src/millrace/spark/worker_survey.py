"""Survey of a Spark master's Python workers: one tiny job that reaches every core."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from math import isfinite
from threading import Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD, InheritableThread, SparkContext, cloudpickle
from pyspark.errors import PySparkException

from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.filesystem.settings import current_settings
from millrace.spark import worker_probe
from millrace.spark.cluster_cores import ClusterCores, in_driver
from millrace.spark.dependencies import Dependencies
from millrace.spark.resident.free_slots import is_dynamic
from millrace.spark.session import active_context, create_context
from millrace.spark.worker_start import CURE, start_failure

__all__ = ["SurveyError", "WorkerReport", "WorkerSurvey", "survey_workers"]

_GROUP = "millrace-doctor"


class SurveyError(Exception):
    """Spark did not run the job; the message has the reason.

    Args:
        cure: remedy; empty if unknown.
    """

    def __init__(self, reason: str, cure: str = "") -> None:
        super().__init__(reason)
        self.cure = cure


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """Facts that one Python worker reported."""

    host: str
    pid: int
    executable: str
    python: str
    packages: Mapping[str, str]
    """Version of each package, or the error of its import."""
    encoding: str
    open_files: int | None
    """Limit of open files."""
    memory: int | None
    """Available memory in bytes."""
    scratch: str
    disk: int
    """Free bytes in the directory for temporary files."""
    trial_name: str
    trial_error: str | None


@dataclass(frozen=True, slots=True)
class WorkerSurvey:
    """Facts that all workers reported."""

    spark: str
    """The version of the driver's Spark."""
    reports: tuple[WorkerReport, ...]
    skews: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Least and greatest number of seconds by which the clock of each host is ahead of the
    driver's."""


def survey_workers(
    settings: Mapping[str, str], configuration: Configuration, place: str | None, patience: float
) -> WorkerSurvey:
    """Survey all workers with one job in the running application, or in a new one.

    Args:
        settings: Spark settings for a new application.
        configuration: configuration of the run, whose dependencies are shipped.
        place: directory of a storage trial in which the workers take part.
        patience: seconds that the job may take once executors are there.

    Raises:
        SurveyError: no executor came, the workers cannot begin, or the job failed.
    """
    own = active_context() is None
    try:
        dependencies = Dependencies.of(configuration)
        context = create_context("millrace doctor", 2, extra=dependencies.add_to(settings))
    except (Py4JError, PySparkException, ConfigurationError) as error:
        raise SurveyError(_reason(error)) from error
    try:
        cores = _awaited_cores(context, patience)
        return _within(patience, context, lambda: _survey(context, dependencies, place, cores))
    finally:
        if own:
            context.stop()


def _survey(
    context: SparkContext, dependencies: Dependencies, place: str | None, cores: int
) -> WorkerSurvey:
    environment = dependencies.ship(context)
    workers = _every_core(context, cores)
    stores = asdict(current_settings())
    search, in_files = environment.search, environment.in_files
    # functions, not their module: what is shipped by value must not name it
    worker_facts, worker_clock = worker_probe.worker_facts, worker_probe.worker_clock

    def facts(_: Iterator[int]) -> Iterator[dict[str, Any]]:
        yield worker_facts(search, in_files, place, stores)

    def clock(_: Iterator[int]) -> Iterator[tuple[str, float]]:
        yield worker_clock()

    with _by_value(), environment.of_functions(context):
        reports = [WorkerReport(**told) for told in workers(facts)]
        # the workers run now, so this job is over in no time
        before = time.time()
        clocks = workers(clock)
        after = time.time()
    skews = {host: (then - after, then - before) for host, then in clocks}
    return WorkerSurvey(str(context.version), tuple(_one_each(reports)), skews)


def _awaited_cores(context: SparkContext, patience: float) -> int:
    """Number of cores after waiting for the requested executors."""
    deadline = time.monotonic() + patience
    while True:
        cores = ClusterCores(context)
        cores.wait_until_known()
        executors = int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1
        late = executors < 1 or (isfinite(cores.promised) and cores.count < cores.promised)
        if in_driver(context) or not late:
            return cores.count
        if time.monotonic() > deadline:
            break
    if executors < 1:
        raise SurveyError("no executor came: the cluster has no free cores or memory for one")
    return cores.count


def _every_core(context: SparkContext, cores: int) -> Callable[[Any], list[Any]]:
    """Run a function once on every core at the same time, as far as Spark allows."""
    grows = is_dynamic(context)

    def run(function: Any) -> list[Any]:
        rdd: RDD[int] = context.parallelize(range(cores), cores)
        # Spark has no barriers where executors come and go
        return (rdd if grows else rdd.barrier()).mapPartitions(function).collect()

    return run


def _one_each(reports: list[WorkerReport]) -> Iterator[WorkerReport]:
    """One report per worker: tasks that ran in the same worker report the same facts."""
    seen: dict[tuple[str, int], WorkerReport] = {}
    for report in sorted(reports, key=lambda report: (report.host, report.pid)):
        seen.setdefault((report.host, report.pid), report)
    yield from seen.values()


@contextmanager
def _by_value() -> Iterator[None]:
    """Context in which the probe's functions are pickled with their code."""
    cloudpickle.register_pickle_by_value(worker_probe)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        with suppress(ValueError):  # a survey that was given up may have ended in its thread
            cloudpickle.unregister_pickle_by_value(worker_probe)  # type: ignore[no-untyped-call]


def _within(
    seconds: float, context: SparkContext, work: Callable[[], WorkerSurvey]
) -> WorkerSurvey:
    done: list[WorkerSurvey] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            context.setJobGroup(_GROUP, "looks at the workers", interruptOnCancel=True)
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread: Thread = InheritableThread(target=run, name=_GROUP, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        context.cancelJobGroup(_GROUP)
        raise SurveyError(f"the workers did not answer within {seconds:.0f} s")
    if failed:
        error = failed[0]
        if isinstance(error, (Py4JError, PySparkException, ConfigurationError, SurveyError)):
            reason = _reason(error)
            cannot_begin = reason.endswith(CURE)
            cure = f"{CURE[0].upper()}{CURE[1:]}." if cannot_begin else ""
            raise SurveyError(reason.removesuffix(f": {CURE}"), cure) from error
        raise error
    return done[0]


def _reason(error: BaseException) -> str:
    """Error in one line."""
    text = str(error)
    known = start_failure(text)
    if known is not None:
        return known
    if "InvalidClassException" in text:
        return "the executors run another version of Spark than the driver"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "Exception" in line or "Error" in line]
    return (told or lines or [type(error).__name__])[0]
