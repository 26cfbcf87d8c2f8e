"""Scatter-gather iterations: one function sends messages of changed vertices, another one updates
vertices by the messages that they have received.

Flink docs: Gelly, "Scatter-Gather Iterations".
"""

from __future__ import annotations

from millrace.graph.iterations.message_iterator import MessageIterator
from millrace.graph.spargel.batch_functions import BatchGatherFunction, BatchScatterFunction
from millrace.graph.spargel.gather_function import GatherFunction
from millrace.graph.spargel.scatter_function import ScatterFunction
from millrace.graph.spargel.scatter_gather_configuration import ScatterGatherConfiguration

__all__ = [
    "BatchGatherFunction",
    "BatchScatterFunction",
    "GatherFunction",
    "MessageIterator",
    "ScatterFunction",
    "ScatterGatherConfiguration",
]
