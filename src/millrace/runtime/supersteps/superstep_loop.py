"""The loop in which a task runs a superstep program."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_checkpoints import SuperstepCheckpoints
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["result_table", "run_supersteps"]


def run_supersteps(
    program: SuperstepProgram,
    partition: GraphPartition,
    exchange: GraphExchange,
    checkpoints: SuperstepCheckpoints | None = None,
) -> int:
    """Run a program to its end. Returns the number of supersteps.

    Args:
        checkpoints: storage of snapshots; None for none.
    """
    program.start(partition, exchange)
    number = 0
    if checkpoints is not None:
        newest = checkpoints.newest(exchange)
        if newest is not None:
            number, snapshot = newest
            program.restore(snapshot)
    goes_on = True
    while goes_on:
        number += 1
        wanted = program.superstep(number)
        is_due = checkpoints is not None and checkpoints.is_due(number)
        votes = exchange.all_reduce(np.array([wanted, is_due], np.int8), "max")
        goes_on = bool(votes[0])
        if goes_on and votes[1] and checkpoints is not None:
            checkpoints.write(number, program.snapshot(), exchange)
    return number


def result_table(program: SuperstepProgram) -> Any:
    """The result of a task as a `pyarrow.Table`."""
    import pyarrow as pa

    result = program.result()
    if isinstance(result, pa.Table):
        return result
    columns = {
        name: pa.array(column) if isinstance(column, np.ndarray) else column
        for name, column in result.items()
    }
    return pa.table(columns)
