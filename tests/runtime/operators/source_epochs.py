"""Reads an epoch with a source operator, as a subtask does."""

from __future__ import annotations

from millrace.runtime.epoch import ReadPlan, ReadResult
from millrace.runtime.operators.source import SourceOperator


def read(operator: SourceOperator, plan: ReadPlan) -> ReadResult:
    """Read to the end of the epoch; gives what the operator returns."""
    batches = operator.read(plan)
    while True:
        try:
            next(batches)
        except StopIteration as end:
            result: ReadResult = end.value
            return result
