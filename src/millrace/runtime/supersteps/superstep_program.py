"""SuperstepProgram: a vectorised algorithm on a graph, which runs in all tasks at the same time.

Each task has one object of the program, and a partition of the graph (`GraphPartition`): the
vertices that it owns and their out-edges, as NumPy arrays. A *superstep* computes on these arrays
and calls methods of `GraphExchange`, by which tasks send values to each other:

* `pull` takes values of vertices to the tasks that have them as ghosts, the ends of their edges;
* `push` takes values for ghosts to their owners and combines them, by sum, minimum or maximum;
* `pull_changed` and `push_changed` do the same with few values;
* `send` takes any number of messages to vertices, `route` takes rows to tasks;
* `all_reduce` combines a number or an array over all tasks.

All tasks must call the same methods in the same order; so a program decides what to do next by an
`all_reduce`, or by what `superstep` returns: the loop ends when no task wants a further one.
Messages along edges against their direction are a `pull`, because a task has the out-edges of its
vertices; along their direction they are a `push`. Edges of an undirected graph are in both
directions. A program costs some passes of NumPy over edges per superstep, and no Python per vertex.

Connected components by the smallest index, on a graph with edges in both directions::

    class Components(SuperstepProgram):
        state = ("labels",)

        def start(self, partition, exchange):
            super().start(partition, exchange)
            before = exchange.all_gather(partition.vertex_count)[: partition.index]
            self.labels = np.arange(partition.vertex_count) + sum(before)

        def superstep(self, number):
            graph = self.partition
            candidates = graph.combine_at_targets(graph.to_edges(self.labels), "min", 2**62)
            smallest = np.minimum(self.labels, self.exchange.push(candidates, "min"))
            changed = bool((smallest < self.labels).any())
            self.labels = smallest
            return changed

        def result(self):
            return {"id": self.partition.ids, "component": self.labels}

`local_run.run_local` runs a program in this process, for tests; ``Graph`` runs it on Spark.
`state` names the attributes that a checkpoint keeps; `start` is called before they are restored.
Arrays that depend on the graph alone need not be there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

__all__ = ["SuperstepProgram"]


class SuperstepProgram(ABC):
    """An algorithm on a graph. The module's text tells how it is written."""

    state: ClassVar[tuple[str, ...]] = ()
    """Attributes that change from superstep to superstep."""

    partition: GraphPartition
    exchange: GraphExchange

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        """Prepare for the first superstep. A class that extends this method calls it first.

        Args:
            partition: the task's vertices and edges.
            exchange: methods by which values are sent to other tasks.
        """
        self.partition = partition
        self.exchange = exchange

    @abstractmethod
    def superstep(self, number: int) -> bool:
        """Compute a superstep. Returns whether this task wants another one; if one task does, all
        tasks compute it.

        Args:
            number: number of the superstep, from 1.
        """

    @abstractmethod
    def result(self) -> Any:
        """The result of this task: columns by name, of NumPy or Arrow, or a `pyarrow.Table`. The
        results of all tasks together are the result of the program."""

    def snapshot(self) -> Mapping[str, Any]:
        """Content of a checkpoint: values that can be pickled."""
        return {name: getattr(self, name) for name in self.state}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from a checkpoint, after a call of `start`."""
        for name, value in snapshot.items():
            setattr(self, name, value)
