"""Reads an epoch with a source operator, as a subtask does."""

from __future__ import annotations

from millrace.runtime.epoch import ReadPlan, ReadResult
from millrace.runtime.operators.source import SourceOperator


def read(operator: SourceOperator, plan: ReadPlan) -> ReadResult:
    """Read to the end of the epoch; gives what the operator returns."""
    operator.begin_reading(plan)
    for _ in operator.read_available(plan):
        pass
    return operator.finish_reading(plan)
