"""An iteration on a graph whose processes kill themselves, or the driver, at drawn supersteps.

Run: ``graph_job.py MASTER DIRECTORY VICTIM SEED KILLS``. The result is in ``result.json``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

from millrace.graph import Graph
from millrace.graph.pregel import ComputeFunction, VertexCentricConfiguration
from millrace.spark.session import create_session

LENGTH = 120
"""Number of vertices of the path, and of supersteps."""


def main(master: str, directory: Path, victim: str, seed: int, kills: int) -> None:
    driver, killed = os.getpid(), directory / "killed"
    killed.mkdir(parents=True, exist_ok=True)
    drawn = random.Random(seed).sample(range(2, LENGTH), kills)

    class Labels(ComputeFunction[int, int, Any, int]):
        """The smallest id that reaches a vertex."""

        def pre_superstep(self) -> None:
            number = self.get_superstep_number()
            if number in drawn:
                try:
                    (killed / str(number)).touch(exist_ok=False)
                except FileExistsError:
                    return
                os.kill(self.victim(), signal.SIGKILL)

        def victim(self) -> int:
            if victim == "driver":
                return driver
            if victim == "worker":
                return os.getpid()
            import psutil

            parents = psutil.Process().parents()
            return next(p.pid for p in parents if "java" in p.name())

        def compute(self, vertex: Any, messages: Any) -> None:
            smallest = min(messages, default=vertex.id)
            if self.get_superstep_number() == 1 or smallest < vertex.value:
                self.set_new_vertex_value(smallest)
                self.send_message_to_all_neighbors(smallest)

    create_session("graph kills", 2, master)
    settings = VertexCentricConfiguration()
    settings.set_parallelism(2)
    settings.set_restarts(kills + 1)
    settings.enable_checkpoints(str(directory / "checkpoints"), 1)
    graph = Graph.from_edges([(number, number + 1) for number in range(LENGTH - 1)])
    result = graph.run_vertex_centric_iteration(Labels(), None, LENGTH, settings, vertex_type=int)
    values = sorted(result.get_vertices().collect())
    (directory / "result.json").write_text(json.dumps(values))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
