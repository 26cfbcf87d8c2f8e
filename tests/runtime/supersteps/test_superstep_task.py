"""Tasks of a graph job, which are threads here, from their input to their result."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.runtime.supersteps.packed_rows import GraphTypes, RowPacker
from millrace.runtime.supersteps.socket_transport import SocketTransport
from millrace.runtime.supersteps.superstep_program import SuperstepProgram
from millrace.runtime.supersteps.superstep_task import SuperstepTask

RING = 12
TYPES = GraphTypes(pa.int64())


def rows_of(task: int, tasks: int) -> list[Any]:
    """Vertices and edges of one task: a ring, whose vertices are dealt out in turn."""
    ids = [number for number in range(RING) if number % tasks == task]
    targets = [(number + 1) % RING for number in ids]
    owner = pa.array([task] * len(ids), pa.int32())
    edges = {
        "owner": owner,
        "source": pa.array(ids, pa.int64()),
        "target": pa.array(targets, pa.int64()),
        "target_owner": pa.array([target % tasks for target in targets], pa.int32()),
    }
    vertices = pa.record_batch({"owner": owner, "id": edges["source"]})
    packed = RowPacker(TYPES.vertex_schema, False, tasks)([vertices])
    return [*packed, *RowPacker(TYPES.edge_schema, True, tasks)([pa.record_batch(edges)])]


def run(program: Callable[[], SuperstepProgram], tasks: int, host: str = "") -> list[Any]:
    """The errors that tasks report as rows, or the exception of each."""
    told, barrier, ends = [""] * tasks, Barrier(tasks), [None] * tasks
    schema = pa.schema([("id", pa.int64())])
    task = SuperstepTask(program, TYPES, schema, b"0" * 32, "job")

    def work(index: int) -> None:
        def gather(text: str) -> Sequence[str]:
            told[index] = text
            barrier.wait()
            return list(told)

        try:
            batches = iter(rows_of(index, tasks))
            results: Any = list(task.run(batches, index, tasks, host, gather))
            ends[index] = pa.Table.from_batches(results)["_error"].to_pylist()
        except Exception as error:
            ends[index] = error  # type: ignore[call-overload]

    threads = [Thread(target=work, args=(index,)) for index in range(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends


@pytest.mark.parametrize("host", ["", "127.0.0.1"])
@pytest.mark.parametrize("tasks", [2, 3])
def test_a_failure_while_the_others_compute(
    tasks: int, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks that send after the failed one has closed its connections learn of its failure: they
    do not take it for a lost process."""
    closed = Barrier(tasks)

    def close(transport: SocketTransport) -> None:
        original(transport)
        if transport.index == 1:
            closed.wait()

    original = SocketTransport.close
    monkeypatch.setattr(SocketTransport, "close", close)

    class Failing(SuperstepProgram):
        def superstep(self, number: int) -> bool:
            if self.partition.index == 1:
                raise ValueError("of the program")
            closed.wait()
            self.exchange.push(np.zeros(self.partition.slot_count), "sum")
            return False

        def result(self) -> Any:
            return {"id": self.partition.ids}

    reports = [json.loads(rows[0]) for rows in run(Failing, tasks, host)]
    assert [report["follows"] for report in reports] == [task != 1 for task in range(tasks)]
    assert "ValueError: of the program" in reports[1]["message"]
