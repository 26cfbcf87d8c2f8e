"""`optimized`: applies all rules in their order."""

from __future__ import annotations

from millrace.planner.relational.rel_node import RelNode
from millrace.planner.rules.changelog_normalization import (
    SourceChangelogs,
    with_normalized_changes,
)
from millrace.planner.rules.constant_conditions import without_constant_conditions
from millrace.planner.rules.disjunctions import with_factored_conditions, with_side_conditions
from millrace.planner.rules.join_keys import with_join_keys
from millrace.planner.rules.partition_pruning import with_pruned_partitions
from millrace.planner.rules.pruning import pruned
from millrace.planner.rules.push_down import pushed_down
from millrace.planner.rules.ranking import with_ranks
from millrace.planner.rules.set_operations import with_set_operations
from millrace.planner.rules.subquery_removal import without_subqueries
from millrace.planner.rules.table_functions import with_table_functions
from millrace.planner.rules.window_aggregation import with_window_aggregates

__all__ = ["optimized"]


def optimized(rows: RelNode, changelogs: SourceChangelogs | None = None) -> RelNode:
    """The tree to run, made from a bound tree.

    Args:
        changelogs: options for the sources' changelogs, by default for streams without duplicates.

    Raises:
        UnsupportedQueryError: no join can stand for a correlated query, or a table lacks the
            primary key that its changes need.
    """
    rows = with_set_operations(with_table_functions(without_subqueries(rows)))
    rows = without_constant_conditions(rows)
    rows = with_normalized_changes(rows, changelogs or SourceChangelogs())
    rows = with_factored_conditions(rows)
    rows = with_side_conditions(pushed_down(rows))
    rows = pushed_down(rows)  # what filters went through may be projections above each other now
    rows = pushed_down(with_window_aggregates(rows))
    rows = with_join_keys(pushed_down(with_ranks(rows)))
    return pruned(with_pruned_partitions(rows))
