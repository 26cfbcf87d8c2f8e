"""Spark's worker processes, as seen in the newest epochs; and the server's metrics."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from millrace.server.api_route import ApiError, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.resources.metrics import GET, MetricValue, selected
from millrace.server.resources.vertices import host_of

__all__ = ["ROUTES", "WorkerOfJobs", "found_worker", "task_managers"]


class TaskManager(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process; figures that Spark does not report are 0."""

    id: str
    """Id of the worker: host:pid."""
    path: str
    host: str
    data_port: int = msgspec.field(name="dataPort", default=0)
    jmx_port: int = msgspec.field(name="jmxPort", default=0)
    time_since_last_heartbeat: int = msgspec.field(name="timeSinceLastHeartbeat", default=0)
    """Time of the worker's last sign of life, in ms since the Unix epoch."""
    slots_number: int = msgspec.field(name="slotsNumber", default=0)
    """Number of subtasks that the worker ran in the newest epoch."""
    free_slots: int = msgspec.field(name="freeSlots", default=0)
    jobs: list[str] = []


class TaskManagers(msgspec.Struct, frozen=True):
    """Answer of ``/taskmanagers``."""

    taskmanagers: list[TaskManager]


class WorkerSubtask(msgspec.Struct, frozen=True):
    """A subtask that a worker ran in the newest epoch."""

    jid: str
    vertex: str
    """Id of the vertex."""
    name: str
    """Name of the vertex."""
    subtask: int


class HardwareDescription(msgspec.Struct, frozen=True, rename="camel"):
    """Hardware of a worker's machine; all 0, because Spark does not report it."""

    cpu_cores: int = 0
    physical_memory: int = 0
    free_memory: int = 0
    managed_memory: int = 0


class TaskManagerDetails(TaskManager, frozen=True, kw_only=True):
    """Answer of ``/taskmanagers/:taskmanagerid``."""

    hardware: HardwareDescription = HardwareDescription()
    subtasks: list[WorkerSubtask] = []


@dataclass(frozen=True, slots=True)
class WorkerOfJobs:
    """A worker, and the jobs of which it has run subtasks."""

    id: str
    jobs: tuple[ObservedJob, ...]

    def subtasks(self) -> list[WorkerSubtask]:
        """Subtasks that the worker ran in the newest epochs."""
        return [
            WorkerSubtask(job.id, vertex.id, vertex.name, number)
            for job in self.jobs
            for vertex in job.vertices
            for number, subtask in enumerate(vertex.subtasks)
            if subtask.worker == self.id
        ]


def found_worker(server: JobServer, request: ApiRequest) -> WorkerOfJobs:
    """The worker that a request names.

    Raises:
        ApiError: 404, no job that runs has it.
    """
    jobs, id = server.all_observed(), request.path["taskmanagerid"]
    known = next((worker for worker in task_managers(jobs) if worker.id == id), None)
    if known is None:
        raise ApiError(404, f"no job that runs has a worker {id[:200]!r}")
    return WorkerOfJobs(id, tuple(job for job in jobs if job.id in known.jobs))


def task_managers(jobs: Iterable[ObservedJob]) -> list[TaskManager]:
    """The workers of all running jobs."""
    seen: dict[str, dict[str, Any]] = {}
    for job in jobs:
        if not job.is_running or job.archive is None:
            continue
        for subtask in (
            vertex_subtask for vertex in job.vertices for vertex_subtask in vertex.subtasks
        ):
            if not subtask.worker:
                continue
            worker = seen.setdefault(subtask.worker, {"time": 0, "subtasks": 0, "jobs": {}})
            worker["time"] = max(worker["time"], job.archive.time)
            worker["subtasks"] += 1
            worker["jobs"][job.id] = None
    return [
        TaskManager(
            id=name,
            path=name,
            host=host_of(name),
            time_since_last_heartbeat=worker["time"],
            slots_number=worker["subtasks"],
            jobs=list(worker["jobs"]),
        )
        for name, worker in sorted(seen.items())
    ]


def server_metrics(jobs: Iterable[ObservedJob]) -> dict[str, Any]:
    """The metrics of the server by Flink's names, as far as Python has an equivalent."""
    known = list(jobs)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "numRunningJobs": sum(not job.job.is_over for job in known),
        "numRegisteredTaskManagers": len(task_managers(known)),
        "Status.Process.CPU.Time": round((used.ru_utime + used.ru_stime) * 1e9),
        "Status.Process.Memory.Max": used.ru_maxrss * 1_024,
        "Status.Process.Threads.Count": threading.active_count(),
    }


def get_task_managers(server: JobServer, request: ApiRequest) -> TaskManagers:
    """Answer ``GET /taskmanagers``."""
    return TaskManagers(task_managers(server.all_observed()))


def get_task_manager(server: JobServer, request: ApiRequest) -> TaskManagerDetails:
    """Answer ``GET /taskmanagers/:taskmanagerid``."""
    worker = found_worker(server, request)
    (known,) = [
        task_manager for task_manager in task_managers(worker.jobs) if task_manager.id == worker.id
    ]
    return TaskManagerDetails(**msgspec.structs.asdict(known), subtasks=worker.subtasks())


def get_server_metrics(server: JobServer, request: ApiRequest) -> list[MetricValue]:
    """Answer ``GET /jobmanager/metrics``."""
    return selected(server_metrics(server.all_observed()), request.query.get("get"))


ROUTES = (
    ApiRoute("GET", "/taskmanagers", get_task_managers, "The workers of all jobs.", TaskManagers),
    ApiRoute(
        "GET",
        "/taskmanagers/{taskmanagerid}",
        get_task_manager,
        "A worker and the subtasks that it ran in the newest epochs.",
        TaskManagerDetails,
    ),
    ApiRoute(
        "GET",
        "/jobmanager/metrics",
        get_server_metrics,
        "Metrics of the server.",
        list[MetricValue],
        query=(GET,),
    ),
)
