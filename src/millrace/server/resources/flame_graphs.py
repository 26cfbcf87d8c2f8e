"""Flame graphs of a job's vertices, from stack samples that its workers take on request."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

import msgspec

from millrace.common.errors import CheckpointError
from millrace.filesystem.location import is_local
from millrace.runtime.stack_samples import (
    SampledStack,
    SampleRequest,
    WorkerSamples,
    read_request,
    samples_in,
    write_request,
)
from millrace.runtime.watchdog import REPORTS
from millrace.server.api_route import AccessRole, ApiError, ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer

__all__ = ["ROUTES", "FlameGraph", "FlameNode", "flame_graph"]

SECONDS = 5.0
"""Seconds for which workers take samples."""
NOTICE = 1.0
"""Seconds after which every worker has seen a request."""
GRACE = 2.0
"""Seconds after the last sample in which workers write what they have seen."""
FRESH = 60.0
"""Seconds after which a request begins new samples (Flink: rest.flamegraph.refresh-interval)."""
TERMINATED, WAITING = -1, -3
"""Flink's ``endTimestamp`` without a graph: the job has ended, or samples are being taken."""
TYPES = ("FULL", "ON_CPU", "OFF_CPU")


class FlameNode(msgspec.Struct, frozen=True):
    """Call in a flame graph."""

    name: str
    """Function, file and line."""
    value: int
    """Number of samples in which the call, or one that it made, was running."""
    children: list[FlameNode] = []


class FlameGraph(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer of ``/jobs/:jobid/vertices/:vertexid/flamegraph``."""

    end_timestamp: int = msgspec.field(name="endTimestamp")
    """Time of the last sample in ms since the Unix epoch. -1: the job has ended, -3: samples are
    being taken, ask again."""
    data: FlameNode | None = None
    ticks: int = 0
    """Number of times at which the vertex's workers were looked at. A subtask that waits for
    input has no stack then."""


class _Call:
    """Call in a flame graph that is being built."""

    def __init__(self) -> None:
        self.value = 0
        self.children: dict[str, _Call] = {}

    def add(self, names: Iterable[str], times: int) -> None:
        """Add a stack below this call, seen so many times."""
        call = self
        call.value += times
        for name in names:
            call = call.children.setdefault(name, _Call())
            call.value += times

    def node(self, name: str) -> FlameNode:
        """The call as it is answered, the most frequent calls first."""
        children = sorted(self.children.items(), key=lambda item: (-item[1].value, item[0]))
        return FlameNode(name, self.value, [call.node(child_name) for child_name, call in children])


def flame_graph(
    samples: Iterable[WorkerSamples], stage: int, subtask: int | None = None, kind: str = "FULL"
) -> FlameGraph:
    """The flame graph of a stage.

    Args:
        stage: number of the stage in its program.
        subtask: a subtask; None for all of them.
        kind: ``FULL``, or only the samples ``ON_CPU`` or ``OFF_CPU``.
    """
    root, ended, ticks = _Call(), 0.0, 0
    for worker in samples:
        ended = max(ended, worker.ended)
        ticks += worker.ticks
        for sampled in worker.subtasks:
            if sampled.stage == stage and subtask in (None, sampled.subtask):
                for stack in sampled.stacks:
                    times = _times(stack, kind)
                    if times:
                        root.add((worker.frames[number] for number in stack.frames), times)
    return FlameGraph(round(ended * 1_000), root.node("root"), ticks)


def _times(stack: SampledStack, kind: str) -> int:
    on_cpu = stack.on_cpu if kind != "OFF_CPU" else 0
    return on_cpu + (stack.off_cpu if kind != "ON_CPU" else 0)


def get_flame_graph(server: JobServer, request: ApiRequest) -> FlameGraph:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/flamegraph``. The first request starts the
    sampling, and later requests return the graph."""
    job, vertex = server.observed_vertex(request)
    if job.job.is_over or job.directory is None or job.archive is None:
        return FlameGraph(TERMINATED)
    reports, now = _reports(job.directory), server.now() / 1_000
    asked = read_request(reports)
    is_old = asked is None or now > asked.until + FRESH
    if asked is None or is_old or (request.query.get("refresh") and now > asked.until + GRACE):
        _ask(reports, now)
        return FlameGraph(WAITING)
    if now < asked.until + GRACE:
        return FlameGraph(WAITING)
    stage = next(n for n, archived in enumerate(job.archive.stages) if archived.uid == vertex.uid)
    graph = flame_graph(
        samples_in(reports, asked),
        stage,
        request.query.get("subtaskindex"),
        request.query.get("type", TYPES[0]),
    )
    return msgspec.structs.replace(graph, end_timestamp=round(asked.until * 1_000))


def _reports(directory: Path) -> str:
    if not is_local(str(directory)):
        raise ApiError(409, "workers take samples only for jobs whose directory is on a disk")
    return os.path.join(directory, REPORTS)


def _ask(reports: str, now: float) -> None:
    try:
        write_request(reports, SampleRequest(uuid.uuid4().hex, now + NOTICE + SECONDS))
    except (CheckpointError, OSError) as error:
        raise ApiError(409, f"the job's workers cannot be asked for samples: {error}") from None


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/vertices/{vertexid}/flamegraph",
        get_flame_graph,
        "The flame graph of a vertex: its workers' stacks in five seconds. The first request "
        "begins to take samples.",
        FlameGraph,
        AccessRole.OPERATE,
        query=(
            QueryParameter("type", choices=TYPES, description="which samples the graph shows"),
            QueryParameter("subtaskindex", int, "only this subtask", minimum=0),
            QueryParameter("refresh", bool, "take new samples"),
        ),
    ),
)
