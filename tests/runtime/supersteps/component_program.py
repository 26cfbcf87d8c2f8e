"""Connected components by the smallest index: the example in the docstring of
`superstep_program`."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import Array, GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram


class Components(SuperstepProgram):
    """Label of each vertex: the smallest index of a vertex of its component. Edges are in both
    directions."""

    state = ("labels",)
    labels: Array

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        before = exchange.all_gather(partition.vertex_count)[: partition.index]
        self.labels = np.arange(partition.vertex_count) + sum(before)

    def superstep(self, number: int) -> bool:
        graph = self.partition
        candidates = graph.combine_at_targets(graph.to_edges(self.labels), "min", 2**62)
        smallest = np.minimum(self.labels, self.exchange.push(candidates, "min"))
        changed = bool((smallest < self.labels).any())
        self.labels = smallest
        return changed

    def result(self) -> Any:
        return {"id": self.partition.ids, "component": self.labels}


class PulledComponents(Components):
    """The same with values that are pulled, those that have changed alone."""

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self.slots = exchange.pull(self.labels)

    def superstep(self, number: int) -> bool:
        graph = self.partition
        smallest = np.minimum(
            self.labels,
            graph.combine_at_sources(self.slots[graph.targets], "min", 2**62),
        )
        changed = smallest < self.labels
        self.labels = smallest
        self.slots[: graph.vertex_count] = smallest
        self.exchange.pull_changed(self.slots, changed)
        return bool(changed.any())
