"""Additional details of EXPLAIN. Flink: ``ExplainDetail``."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExplainDetail"]


class ExplainDetail(IntEnum):
    """Details that `Table.explain` and ``EXPLAIN`` add."""

    ESTIMATED_COST = 0
    """Accepted; there is no cost model."""
    CHANGELOG_MODE = 1
    """The row kinds that each node gives."""
    JSON_EXECUTION_PLAN = 2
    """The operators and stages that would run."""
    PLAN_ADVICE = 3
    """Accepted; there is no advice."""
