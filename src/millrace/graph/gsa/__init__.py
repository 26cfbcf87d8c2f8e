"""Gather-sum-apply iterations: values along edges, one sum for each vertex, and its new value.

Flink docs: Gelly, "Gather-Sum-Apply Iterations".
"""

from __future__ import annotations

from millrace.graph.gsa.apply_function import ApplyFunction
from millrace.graph.gsa.batch_functions import BatchApplyFunction, BatchGatherFunction
from millrace.graph.gsa.gather_function import GatherFunction, Neighbor
from millrace.graph.gsa.gsa_configuration import GSAConfiguration
from millrace.graph.gsa.sum_function import SumFunction

__all__ = [
    "ApplyFunction",
    "BatchApplyFunction",
    "BatchGatherFunction",
    "GSAConfiguration",
    "GatherFunction",
    "Neighbor",
    "SumFunction",
]
