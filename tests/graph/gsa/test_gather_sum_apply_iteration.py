"""Gather-sum-apply iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.graph.iterations.local_iteration import assert_shortest_paths, iterate

from millrace.common.errors import JobExecutionError, UserFunctionError
from millrace.graph.elements import EdgeDirection
from millrace.graph.gsa import (
    ApplyFunction,
    BatchApplyFunction,
    BatchGatherFunction,
    GatherFunction,
    Neighbor,
    SumFunction,
)
from millrace.graph.gsa.gather_sum_apply_iteration import GatherSumApplyProgram
from millrace.graph.iterations.batch_programs import BatchGatherSumApplyProgram


class Length(GatherFunction[float, float, float]):
    def gather(self, neighbor: Neighbor[float, float]) -> float:
        return neighbor.get_neighbor_value() + neighbor.get_edge_value()


class Smaller(SumFunction[float, float, float]):
    def sum(self, arg0: float, arg1: float) -> float:
        return min(arg0, arg1)


class Nearest(ApplyFunction[int, float, float]):
    def apply(self, new_value: float, current_value: float) -> None:
        if new_value < current_value:
            self.set_result(new_value)


class BatchLength(BatchGatherFunction):
    def gather(self, neighbor_values: Any, edge_values: Any) -> Any:
        return neighbor_values + edge_values


class BatchNearest(BatchApplyFunction):
    def apply(self, vertices: Any, sums: Any) -> None:
        nearer = sums.received & (sums.values < vertices.values)
        vertices.set_new_values(sums.values, nearer)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("direction", list(EdgeDirection))
def test_shortest_paths_in_each_direction(parallelism: int, direction: EdgeDirection) -> None:
    assert_shortest_paths(
        parallelism,
        direction,
        lambda description: GatherSumApplyProgram(description, Length(), Smaller(), Nearest()),
        lambda description: BatchGatherSumApplyProgram(
            description, BatchLength(), "min", BatchNearest()
        ),
    )


class FailingGather(Length):
    def gather(self, neighbor: Neighbor[float, float]) -> float:
        raise ValueError("of the program")


class FailingSum(Smaller):
    def sum(self, arg0: float, arg1: float) -> float:
        raise ValueError("of the program")


class FailingApply(Nearest):
    def apply(self, new_value: float, current_value: float) -> None:
        raise ValueError("of the program")


@pytest.mark.parametrize(
    ("functions", "place"),
    [
        (
            (FailingGather(), Smaller(), Nearest()),
            r"FailingGather.gather.*Neighbor\(neighbor_value=0.0, edge_value=1.0\) in superstep 1",
        ),
        ((Length(), FailingSum(), Nearest()), r"FailingSum.sum.*\[1.0, 2.0\] in superstep 1"),
        (
            (Length(), Smaller(), FailingApply()),
            r"FailingApply.apply.*Vertex\(id=1, value=9.0\) in superstep 1",
        ),
    ],
)
def test_errors_name_the_place(functions: Any, place: str) -> None:
    with pytest.raises(UserFunctionError, match=f"(?s){place}\n.*of the program"):
        iterate(
            lambda description: GatherSumApplyProgram(description, *functions),
            {0: 0.0, 1: 9.0},
            [(0, 1, 1.0), (0, 1, 2.0)],
        )


class Short(BatchLength):
    def gather(self, neighbor_values: Any, edge_values: Any) -> Any:
        return np.zeros(1)


def test_a_batch_function_returns_a_value_for_each_edge() -> None:
    with pytest.raises(JobExecutionError, match=r"returned an array of shape \(1,\) for 2 edges"):
        iterate(
            lambda description: BatchGatherSumApplyProgram(
                description, Short(), "min", BatchNearest()
            ),
            {0: 0.0, 1: 9.0},
            [(0, 1, 1.0), (0, 1, 2.0)],
        )
