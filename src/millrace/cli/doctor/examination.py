"""The whole examination: this machine first, then the workers of the Spark master."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace.cli.doctor.addresses import check_host_name, check_loopback
from millrace.cli.doctor.checkpoint_directory import begin_trial, check_trial
from millrace.cli.doctor.clocks import check_clocks
from millrace.cli.doctor.diagnosis import Diagnosis, Severity, failure
from millrace.cli.doctor.machine import (
    check_class_archive,
    check_disk,
    check_encoding,
    check_java,
    check_memory,
    check_open_files,
)
from millrace.cli.doctor.server_port import check_port
from millrace.cli.doctor.spark_master import check_executors, check_master
from millrace.cli.doctor.versions import (
    check_driver_python,
    check_packages,
    check_pyspark,
    check_worker_python,
)
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.memory_size import MemorySize
from millrace.filesystem.location import is_local
from millrace.filesystem.settings import FileSystemSettings, use_settings

if TYPE_CHECKING:
    from millrace.filesystem.trial import StorageTrial
    from millrace.spark.worker_survey import WorkerSurvey

HERE = "driver"
_WORKERS = "workers"


@dataclass(frozen=True, slots=True)
class Examination:
    """Runs all checks."""

    configuration: Configuration
    """Configuration of the run, with ``spark.master``."""
    directory: str
    """Directory of checkpoints."""
    host: str = "127.0.0.1"
    port: int = 8081
    """Port of the server."""
    patience: float = 120.0
    """Seconds within which workers must answer."""

    def results(self) -> Iterator[Diagnosis]:
        """All diagnoses, each as soon as it is known."""
        from millrace.spark.java_version import find_java
        from millrace.spark.session import spark_settings

        settings = spark_settings(_spark(self.configuration))
        java = check_java(find_java())
        master = check_master(settings["spark.master"])
        yield check_driver_python(platform.python_version(), sys.executable)
        yield from (java, *self._this_machine(settings), master)
        if Severity.FAILURE in (java.severity, master.severity):
            fix = "Fix the problems above, and run 'millrace doctor' again."
            yield failure(_WORKERS, "not asked", fix)
            return
        yield check_executors(settings)
        yield from self._workers(settings)

    def _this_machine(self, settings: Mapping[str, str]) -> Iterator[Diagnosis]:
        from millrace.spark.class_archive import archive_options

        yield check_class_archive(archive_options(), os.environ)
        yield check_loopback()
        if not is_on_this_machine(settings["spark.master"]):
            driver_host = settings.get("spark.driver.host") or os.environ.get("SPARK_LOCAL_IP")
            yield check_host_name(socket.gethostname(), driver_host)
        yield check_port(self.host, self.port)

    def _workers(self, settings: Mapping[str, str]) -> Iterator[Diagnosis]:
        from millrace.spark.worker_survey import SurveyError, survey_workers

        use_settings(_stores(self.configuration))
        trial = begin_trial(self.directory)
        place = None if isinstance(trial, Diagnosis) else trial.place
        try:
            survey = survey_workers(settings, self.configuration, place, self.patience)
            yield from self._surveyed(settings, survey)
            yield trial if isinstance(trial, Diagnosis) else self._tried(trial, survey)
        except SurveyError as error:
            logs = "Look into the executors' logs, and into logs/doctor.log in the state directory."
            yield failure(_WORKERS, str(error), error.cure or logs)
            if isinstance(trial, Diagnosis):
                yield trial
        finally:
            if not isinstance(trial, Diagnosis):
                trial.end()

    def _tried(self, trial: StorageTrial, survey: WorkerSurvey) -> Diagnosis:
        return check_trial(self.directory, trial, survey.reports)

    def _surveyed(self, settings: Mapping[str, str], survey: WorkerSurvey) -> Iterator[Diagnosis]:
        from millrace.spark import worker_probe

        here = worker_probe.process_facts()
        reports = survey.reports
        yield check_pyspark(here["packages"]["pyspark"], survey.spark)
        yield check_worker_python(platform.python_version(), reports)
        yield from check_packages(here["packages"], reports)
        yield check_clocks(survey.skews)
        named = {HERE: here["encoding"]} | {report.host: report.encoding for report in reports}
        yield check_encoding(named)
        limits = {HERE: here["open_files"]} | {report.host: report.open_files for report in reports}
        yield check_open_files(limits)
        heap = MemorySize.parse(settings["spark.driver.memory"]).get_bytes()
        memory = {HERE: here["memory"]} | {report.host: report.memory for report in reports}
        yield check_memory(memory, heap)
        yield check_disk(self._free_disk() | {f"{r.scratch} on {r.host}": r.disk for r in reports})

    def _free_disk(self) -> dict[str, int]:
        places = [tempfile.gettempdir()]
        if is_local(self.directory) and os.path.isdir(self.directory):
            places.append(self.directory)
        return {place: shutil.disk_usage(place).free for place in places}


def is_on_this_machine(master: str) -> bool:
    """Whether Spark runs only on this machine."""
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


def _spark(configuration: Configuration) -> dict[str, str]:
    return {k: v for k, v in configuration.to_dict().items() if k.startswith("spark.")}


def _stores(configuration: Configuration) -> FileSystemSettings:
    return FileSystemSettings(
        s3_endpoint=configuration.get(options.S3_ENDPOINT),
        s3_region=configuration.get(options.S3_REGION),
        s3_path_style=configuration.get(options.S3_PATH_STYLE),
    )
