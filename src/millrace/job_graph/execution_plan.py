"""The plan of a job as plain data: its operators in the form of Flink's plans, and the stages that
they run in (Flink docs, "Execution Plans")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.job_graph.job_graph import JobGraph
from millrace.job_graph.transformation import Input, Role, Transformation
from millrace.runtime.program import Exchange

_TYPES = {Role.SOURCE: "Source: ", Role.SINK: "Sink: ", Role.COLLECT: "Sink: "}
_PACTS = {Role.SOURCE: "Data Source", Role.SINK: "Data Sink", Role.COLLECT: "Data Sink"}
_STRATEGIES = {Exchange.KEYED: "HASH"}
"""Flink's names of exchanges that have another name here."""


def execution_plan(graph: JobGraph, ordered: Sequence[Transformation]) -> dict[str, Any]:
    """The plan of a job whose transformations are ``ordered``, each after its inputs.

    ``nodes`` are Flink's: an operator with its type, parallelism and predecessors, numbered from 1.
    ``stages`` are chains of operators that run in the same subtasks, by the numbers of their nodes.
    """
    number_of = {transformation: number for number, transformation in enumerate(ordered, 1)}
    by_uid = {graph.uid_of[t]: number for t, number in number_of.items()}
    return {
        "job": graph.program.job_name,
        "nodes": [_node(t, number, graph.uid_of[t], number_of) for t, number in number_of.items()],
        "stages": [
            {
                "id": stage.id,
                "name": stage.name,
                "level": stage.level,
                "parallelism": stage.parallelism,
                "nodes": [by_uid[node.uid] for node in stage.nodes],
            }
            for stage in graph.program.stages
        ],
    }


def _node(
    transformation: Transformation,
    number: int,
    uid: str,
    number_of: dict[Transformation, int],
) -> dict[str, Any]:
    kind = _TYPES.get(transformation.role, "") + transformation.name
    node = {
        "id": number,
        "uid": uid,
        "type": kind,
        "pact": _PACTS.get(transformation.role, "Operator"),
        "contents": transformation.description or kind,
        "parallelism": transformation.parallelism,
    }
    if transformation.inputs:
        node["predecessors"] = [
            {
                "id": number_of[source.transformation],
                "ship_strategy": _strategy(source, transformation),
                "side": "first" if source.number else "second",
            }
            for source in transformation.inputs
        ]
    return node


def _strategy(source: Input, target: Transformation) -> str:
    if source.partitioning is None:
        same = source.transformation.parallelism == target.parallelism
        return Exchange.FORWARD.value if same else Exchange.REBALANCE.value
    exchange = source.partitioning.exchange
    return _STRATEGIES.get(exchange, exchange.value)
