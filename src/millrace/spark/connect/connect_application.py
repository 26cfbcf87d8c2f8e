"""`ConnectApplication`: a Spark Connect server, as one job uses it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from millrace.common.config import options
from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError, JobExecutionError
from millrace.common.job import JobStatus
from millrace.engine.executor import Executor
from millrace.engine.job_observer import JobObserver
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.spark.connect.connect_starter import ConnectStarter
from millrace.spark.connect.endpoint import Endpoint, endpoint_of
from millrace.spark.connect.reach import Reach, reach_of
from millrace.spark.connect.remote import Remote
from millrace.spark.connect.sessions import (
    active_session,
    end_session,
    session_beside,
    session_of,
)
from millrace.spark.resident.executor import heartbeat_seconds, link_timeout_seconds

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

__all__ = ["ConnectApplication", "connect_application"]

log = logging.getLogger(__name__)

_SHIPPED_BEFORE = "ARTIFACT_ALREADY_EXISTS"
PY_FILES = "spark.submit.pyFiles"
_NOT_SHIPPED: tuple[ConfigOption[Any], ...] = (
    options.PYTHON_ARCHIVES,
    options.PYTHON_REQUIREMENTS,
    options.PYTHON_EXECUTABLE,
    options.JARS,
    options.CLASSPATHS,
)


class ConnectApplication(JobObserver):
    """A session on a Spark Connect server, which ends with its job.

    Args:
        remote: the server; None if its address is not known.
        shared: whether the session is the program's, and stays.
        tasks: largest number of tasks; None for the number of the server's slots.
    """

    def __init__(
        self,
        session: SparkSession,
        remote: Remote | None,
        endpoint: Endpoint,
        reach: Reach,
        tasks: int | None,
        shared: bool,
    ) -> None:
        self._session = session
        self._shared = shared
        self._remote = remote
        self._endpoint = endpoint
        self._reach = reach
        self._tasks = tasks

    def executor(self, settings: ResidentSettings) -> Executor:
        """Executor of resident tasks on the server."""
        timeout = settings.heartbeat_timeout
        starter = ConnectStarter(
            self._session,
            self._remote,
            self._endpoint,
            self._reach,
            heartbeat_seconds(timeout),
            link_timeout_seconds(timeout),
        )
        return ResidentExecutor(starter, self._tasks, settings)

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        """Do nothing, because the tasks still run."""

    def closed(self) -> None:
        """End the session, unless the program itself created it."""
        if not self._shared:
            end_session(self._session)


def connect_application(configuration: Configuration, remote: Remote | None) -> ConnectApplication:
    """A session of its own on a Spark Connect server, whose workers can run the job and reach this
    process.

    Args:
        remote: the server. None for that of this thread's active session.

    Raises:
        ConfigurationError: a setting or a package does not suit Spark Connect.
        JobExecutionError: the server does not answer, or its workers cannot run the job.
    """
    _require_shippable(configuration)
    shared = False
    if remote is not None:
        endpoint = endpoint_of(configuration, remote)  # a server that does not answer is named
        session = session_of(remote)
    else:
        active = active_session()
        endpoint = endpoint_of(configuration, str(active.client.host))
        own = session_beside(active)
        session, shared = own or active, own is None
    try:
        _ship(session, _files(configuration))
        reach = reach_of(session, _name(remote), endpoint)
    except BaseException:
        if not shared:
            end_session(session)
        raise
    where = "this machine" if reach.is_here else endpoint.host
    log.info(
        "the job's tasks run on the Spark Connect server %s, and connect to %s",
        _name(remote),
        where,
    )
    return ConnectApplication(
        session, remote, endpoint, reach, configuration.get(options.SPARK_TASKS), shared
    )


def _name(remote: Remote | None) -> str:
    return "of this program's Spark session" if remote is None else repr(remote)


def _require_shippable(configuration: Configuration) -> None:
    """Raise ConfigurationError for dependencies that are not shipped over Spark Connect."""
    for option in _NOT_SHIPPED:
        if configuration.contains_key(option.key):
            raise ConfigurationError(
                f"{option.key} is set, which Spark Connect does not support here: install what "
                "the job needs into the Python of the server's workers; modules are shipped with "
                "--py-files, python.files or env.add_python_file"
            )


def _files(configuration: Configuration) -> list[str]:
    """Paths of the modules and archives that workers import."""
    texts = (configuration.get(options.PYTHON_FILES), configuration.get_string(PY_FILES))
    named = [part.strip() for text in texts for part in (text or "").split(",")]
    return [path.removeprefix("file://") for path in dict.fromkeys(named) if path]


def _ship(session: SparkSession, files: Sequence[str]) -> None:
    """Ship modules to the workers of a session, and let this process import them, too."""
    with TemporaryDirectory() as scratch:
        for number, file in enumerate(files):
            path = os.path.abspath(file)
            if not os.path.exists(path):
                raise ConfigurationError(
                    f"{path}, given to add_python_file or {options.PYTHON_FILES.key}, does not "
                    "exist"
                )
            entry = os.path.dirname(path) if path.endswith(".py") else path
            if entry not in sys.path:
                sys.path.insert(1, entry)
            # in a session of several jobs, other directories must not have the same name
            name = f"{Path(path).name}-{sha256(path.encode()).hexdigest()[:8]}"
            _send(session, _shippable(path, Path(scratch, str(number), name)), path)


def _send(session: SparkSession, file: str, origin: str) -> None:
    imported = list(sys.path)
    try:
        session.addArtifacts(file, pyfile=True)
    except Exception as error:  # of PySpark or gRPC
        if _SHIPPED_BEFORE not in str(error):
            raise
        raise JobExecutionError(
            f"{origin} has changed since another job of this Spark session shipped it, and Spark "
            "does not replace modules of a session: begin a new session (spark.stop(), then "
            "getOrCreate()), or set spark.remote, with which each job has a session of its own"
        ) from error
    finally:
        sys.path[:] = imported  # PySpark would import from the file that is about to be deleted


def _shippable(path: str, target: Path) -> str:
    """The path of a file with a name that PySpark ships as modules."""
    if os.path.isdir(path):
        return _archive(Path(path), target.with_name(f"{target.name}.zip"))
    if path.endswith(".whl"):
        target.parent.mkdir()
        return str(shutil.copy(path, str(target.with_name(f"{Path(path).stem}.zip"))))
    return path


def _archive(directory: Path, target: Path) -> str:
    """Path of a zip file that depends on the modules alone: Spark takes the same file again."""
    target.parent.mkdir()
    with ZipFile(target, "w") as archive:
        for file in sorted(directory.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                entry = ZipInfo(file.relative_to(directory).as_posix())
                archive.writestr(entry, file.read_bytes(), ZIP_DEFLATED)
    return str(target)
