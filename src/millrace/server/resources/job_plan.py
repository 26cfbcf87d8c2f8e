"""The dataflow graph of a job as Flink describes it."""

from __future__ import annotations

import msgspec

from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, ObservedVertex, vertex_id

__all__ = ["JobPlan", "ROUTES", "job_plan"]

_SHIP_STRATEGIES = {"KEYED": "HASH", "SHUFFLE": "SHUFFLE"}
"""Flink's word for an exchange, where it is another one."""


class PlanInput(msgspec.Struct, frozen=True):
    """An edge, seen from its end."""

    num: int
    id: str
    """Of the node that sends."""
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
    """What ``/jobs/:jobid/plan`` answers."""

    plan: JobPlan


def job_plan(job: ObservedJob) -> JobPlan:
    """The graph of a job; without nodes before its program has made one."""
    return JobPlan(job.id, job.name, "STREAMING", [_node(vertex) for vertex in job.vertices])


def _node(vertex: ObservedVertex) -> PlanNode:
    return PlanNode(
        id=vertex.id,
        parallelism=vertex.parallelism,
        operator="",
        operator_strategy="",
        description=vertex.name,
        inputs=[
            PlanInput(
                number,
                vertex_id(input.stage),
                _SHIP_STRATEGIES.get(input.exchange, input.exchange),
                "pipelined_bounded",
            )
            for number, input in enumerate(vertex.inputs)
        ],
        uid=vertex.uid,
    )


def get_plan(server: JobServer, request: ApiRequest) -> PlanAnswer:
    """Answer ``GET /jobs/:jobid/plan``."""
    return PlanAnswer(job_plan(server.observed(request)))


ROUTES = (
    ApiRoute("GET", "/jobs/{jobid}/plan", get_plan, "The dataflow graph of a job.", PlanAnswer),
)
