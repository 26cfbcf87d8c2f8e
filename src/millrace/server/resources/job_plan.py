"""The dataflow graph of a job, in Flink's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from millrace.engine.archived_job import ArchivedStage
from millrace.job_graph.operator_tree import TreeInput, TreeOperator, tree_lines
from millrace.runtime.program import Exchange
from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, vertex_id

__all__ = ["JobPlan", "PlanAnswer", "ROUTES", "job_plan", "plan_text", "stage_nodes"]

_SHIP_STRATEGIES = {"KEYED": "HASH", "SHUFFLE": "SHUFFLE"}
"""Flink's words for exchanges, where they differ from Millrace's."""


class PlanInput(msgspec.Struct, frozen=True):
    """An edge, as its target sees it."""

    num: int
    id: str
    """Id of the sending node."""
    ship_strategy: str
    exchange: str


class PlanOperator(msgspec.Struct, frozen=True):
    """An operator of a vertex."""

    uid: str
    name: str
    description: str
    """Description of the operator in the form of EXPLAIN; empty if only its name is known."""


class PlanNode(msgspec.Struct, frozen=True):
    """A vertex of the graph."""

    id: str
    parallelism: int
    operator: str
    operator_strategy: str
    description: str
    inputs: list[PlanInput] = []
    uid: str = ""
    operators: list[PlanOperator] = []
    """Operators in the order of the chain."""


class JobPlan(msgspec.Struct, frozen=True):
    """The graph of a job."""

    jid: str
    name: str
    type: str
    nodes: list[PlanNode]


class PlanAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/plan``."""

    plan: JobPlan
    text: str = ""
    """The operators and their exchanges as text, as EXPLAIN prints them."""


def job_plan(job: ObservedJob) -> JobPlan:
    """The graph of a job; without nodes until its program has made a graph."""
    stages = job.archive.stages if job.archive is not None else ()
    parallelism = {vertex.uid: vertex.parallelism for vertex in job.vertices}
    return JobPlan(job.id, job.name, "STREAMING", stage_nodes(stages, parallelism))


def stage_nodes(
    stages: Iterable[ArchivedStage], parallelism: Mapping[str, int] = MappingProxyType({})
) -> list[PlanNode]:
    """The vertices of a graph as nodes of the plan.

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
        operators=[
            PlanOperator(operator.uid, operator.name, operator.description)
            for operator in stage.operators
        ],
    )


def plan_text(stages: Iterable[ArchivedStage]) -> str:
    """The operators of a graph and their exchanges as text, from each end of the graph."""
    known = {operator.uid: operator for stage in stages for operator in stage.operators}
    operators = {
        uid: TreeOperator(
            operator.description or operator.name,
            tuple(
                TreeInput(
                    operator_input.operator, Exchange.__members__.get(operator_input.exchange)
                )
                for operator_input in operator.inputs
                if operator_input.operator in known
            ),
        )
        for uid, operator in known.items()
    }
    read = {tree_input.source for operator in operators.values() for tree_input in operator.inputs}
    return "\n".join(tree_lines([uid for uid in operators if uid not in read], operators))


def get_plan(server: JobServer, request: ApiRequest) -> PlanAnswer:
    """Answer ``GET /jobs/:jobid/plan``."""
    job = server.observed(request)
    stages = job.archive.stages if job.archive is not None else ()
    return PlanAnswer(job_plan(job), plan_text(stages))


ROUTES = (
    ApiRoute("GET", "/jobs/{jobid}/plan", get_plan, "The dataflow graph of a job.", PlanAnswer),
)
