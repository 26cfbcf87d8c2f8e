"""The dataflow graph of a job, in Flink's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from millrace.engine.archived_job import ArchivedStage
from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, vertex_id

__all__ = ["JobPlan", "PlanAnswer", "ROUTES", "job_plan", "stage_nodes"]

_SHIP_STRATEGIES = {"KEYED": "HASH", "SHUFFLE": "SHUFFLE"}
"""Flink's words for exchanges, where they differ from Millrace's."""


class PlanInput(msgspec.Struct, frozen=True):
    """An edge, as its target sees it."""

    num: int
    id: str
    """Id of the sending node."""
    ship_strategy: str
    exchange: str


class PlanNode(msgspec.Struct, frozen=True):
    """A vertex of the graph."""

    id: str
    parallelism: int
    operator: str
    operator_strategy: str
    description: str
    inputs: list[PlanInput] = []
    uid: str = ""


class JobPlan(msgspec.Struct, frozen=True):
    """The graph of a job."""

    jid: str
    name: str
    type: str
    nodes: list[PlanNode]


class PlanAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/plan``."""

    plan: JobPlan


def job_plan(job: ObservedJob) -> JobPlan:
    """The graph of a job; without nodes until its program has made a graph."""
    stages = job.archive.stages if job.archive is not None else ()
    parallelism = {vertex.uid: vertex.parallelism for vertex in job.vertices}
    return JobPlan(job.id, job.name, "STREAMING", stage_nodes(stages, parallelism))


def stage_nodes(
    stages: Iterable[ArchivedStage], parallelism: Mapping[str, int] = MappingProxyType({})
) -> list[PlanNode]:
    """The nodes of a graph.

    Args:
        parallelism: parallelism by uid, of stages for which it differs from the plan.
    """
    return [_node(stage, parallelism.get(stage.uid, stage.parallelism)) for stage in stages]


def _node(stage: ArchivedStage, parallelism: int) -> PlanNode:
    return PlanNode(
        id=vertex_id(stage.uid),
        parallelism=parallelism,
        operator="",
        operator_strategy="",
        description=stage.name,
        inputs=[
            PlanInput(
                number,
                vertex_id(input.stage),
                _SHIP_STRATEGIES.get(input.exchange, input.exchange),
                "pipelined_bounded",
            )
            for number, input in enumerate(stage.inputs)
        ],
        uid=stage.uid,
    )


def get_plan(server: JobServer, request: ApiRequest) -> PlanAnswer:
    """Answer ``GET /jobs/:jobid/plan``."""
    return PlanAnswer(job_plan(server.observed(request)))


ROUTES = (
    ApiRoute("GET", "/jobs/{jobid}/plan", get_plan, "The dataflow graph of a job.", PlanAnswer),
)
