"""The job server that all routes work with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from millrace.common.config.configuration import Configuration
from millrace.common.errors import StateError
from millrace.engine.clock import Clock, SystemClock
from millrace.metrics.process_metrics import ProcessMetrics
from millrace.server.alerts.alerts import Alerts
from millrace.server.alerts.webhook import Webhook
from millrace.server.alerts.webhook_settings import webhooks_in
from millrace.server.api_route import ApiError, ApiRequest
from millrace.server.history_sampler import HistorySampler
from millrace.server.job_process import JobProcess
from millrace.server.leadership import Leadership
from millrace.server.observed_job import ObservedJob, ObservedJobs, ObservedVertex
from millrace.server.operation_triggers import OperationTriggers
from millrace.server.program_store import ProgramStore
from millrace.server.registry import RegisteredJob
from millrace.server.savepoint_catalog import SavepointCatalog
from millrace.server.server_options import SERVER_HISTORY
from millrace.server.sql_registry import SqlRegistry
from millrace.server.supervisor import Supervisor

__all__ = ["JobServer", "ServerSettings", "checked_id"]

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings that an operator has chosen for a server."""

    directory: Path
    """Directory of the server's own files."""
    savepoints: Path
    """Default directory for savepoints of the server's jobs."""
    registry: str = ""
    """URL of the registry, without its password."""
    allow_uploads: bool = False
    programs: Path | None = None
    """Directory of job files that clients may run by path; None if they may run none."""
    storage: Path | None = None
    """Directory that all servers of the registry share; None for a place below `directory`."""
    upload_limit: int = 256 << 20
    """Largest size of an uploaded file in bytes."""
    configuration: Configuration = field(default_factory=Configuration)
    """Settings of the server itself."""
    job_defaults: Configuration = field(default_factory=Configuration)
    """Settings of all jobs, which those of their programs override."""
    config_file: Path | None = None
    """The file ``config.yaml``; None if there is none."""

    @property
    def jobs(self) -> Path:
        """Directory that holds one directory per job."""
        return (self.storage or self.directory) / "jobs"

    @property
    def uploads(self) -> Path:
        """Directory of uploaded programs."""
        return (self.storage or self.directory) / "uploads"

    @property
    def log(self) -> Path:
        """Path of the server's own log."""
        return self.directory / "server.log"


class JobServer:
    """Jobs and the operations on them.

    Args:
        registry: written only while this server leads.
        supervisor: supervisor of the same registry.
        clock: the time, in ms since the epoch of Unix.
    """

    def __init__(
        self,
        settings: ServerSettings,
        registry: SqlRegistry,
        supervisor: Supervisor,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self.registry = registry
        self.supervisor = supervisor
        self.now = (clock or SystemClock()).now
        self.leadership: Leadership | None = None
        """Leader election; None if this server always leads, because there are no others."""
        self.end: Callable[[], None] = lambda: None
        """Function that ends the server's process; its jobs run on."""
        self.triggers = OperationTriggers(registry, supervisor.process, self.now)
        self.programs = ProgramStore(settings.uploads, settings.programs)
        self.savepoints = SavepointCatalog(settings.savepoints)
        self.history = HistorySampler(
            self._unfinished, self.now, settings.configuration.get(SERVER_HISTORY).to_millis()
        )
        self.process_metrics = ProcessMetrics()
        self._observed = ObservedJobs(supervisor.process, self.now)
        self.alerts = Alerts(
            [Webhook(webhook) for webhook in webhooks_in(settings.configuration)],
            self._unfinished,
            self._observed.observe,
            settings.job_defaults,
        )
        supervisor.on_end = self.alerts.job_ended

    def start(self) -> None:
        """Begin to observe jobs, whichever server leads."""
        self.history.start()
        self.alerts.start()

    def lead(self, token: int, leads: Callable[[], bool] = lambda: True) -> None:
        """Begin to supervise jobs and triggers. ``token``, ``leads``: as `Supervisor.lead`."""
        self.supervisor.lead(token, leads)
        self.triggers.lead()
        self.alerts.lead()

    def stand_by(self) -> None:
        """Stop supervising, because another server leads. The processes of jobs keep running."""
        self.supervisor.stand_by()
        self.triggers.stand_by()
        self.alerts.stand_by()

    def end_processes(self) -> None:
        """Kill the processes of jobs that run on this machine."""
        self.supervisor.end_processes()

    def close(self) -> None:
        """Stop supervising."""
        self.history.close()
        self.alerts.close()
        self.triggers.close()
        self.supervisor.close()

    # -- jobs --------------------------------------------------------------------------------------

    def registered(self, request: ApiRequest) -> RegisteredJob:
        """The registered job whose id a request names.

        Raises:
            ApiError: 400 if the text is not an id; 404 if there is no job with this id.
        """
        job = self.registry.job(checked_id(request.path["jobid"], "job"))
        if job is None:
            raise ApiError(404, f"Job {request.path['jobid']} not found")
        return job

    def observed(self, request: ApiRequest) -> ObservedJob:
        """The current state of the job whose id a request names; raises the same errors as
        `registered`."""
        job = self.registered(request)
        # most answers say nothing of restarts
        return self._observed.observe(job, lambda: self.registry.restarts(job.id).get(job.id, 0))

    def all_observed(self) -> list[ObservedJob]:
        """The current states of all jobs, the newest job first."""
        jobs, restarts = self.registry.jobs(), Counter(self.registry.restarts())
        self._observed.keep(job.id for job in jobs)
        return [
            self._observed.observe(job, partial(restarts.__getitem__, job.id))
            for job in reversed(jobs)
        ]

    def _unfinished(self) -> list[ObservedJob]:
        restarts = Counter(self.registry.restarts())
        return [
            self._observed.observe(job, partial(restarts.__getitem__, job.id))
            for job in self.registry.unfinished_jobs()
        ]

    def observed_vertex(self, request: ApiRequest) -> tuple[ObservedJob, ObservedVertex]:
        """The vertex that a request names; raises the same errors as `registered`."""
        job = self.observed(request)
        id = checked_id(request.path["vertexid"], "vertex")
        vertex = job.vertex(id)
        if vertex is None:
            raise ApiError(404, f"job {job.id} has no vertex {id}")
        return job, vertex

    def process(self, job: RegisteredJob) -> JobProcess:
        """The process of a job."""
        try:
            return self.supervisor.process(job.id)
        except StateError as error:
            raise ApiError(404, str(error)) from None


def checked_id(text: str, what: str) -> str:
    """The id in a request, after a check.

    Raises:
        ApiError: 400, it is none.
    """
    if not _ID.fullmatch(text):
        raise ApiError(400, f"the id of a {what} has 32 hexadecimal digits, not {text[:80]!r}")
    return text
