"""The check that a streaming DataFrame keeps no state in Spark, made on its analysed plan."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError

__all__ = ["check_stateless", "keeps_state"]

_STATEFUL = {
    "Aggregate": "aggregates",
    "Distinct": "drops duplicates",
    "Deduplicate": "drops duplicates",
    "DeduplicateWithinWatermark": "drops duplicates",
    "GlobalLimit": "has a limit",
}
"""Work of the nodes that need state, by the node's name."""


def keeps_state(what: str) -> JobDefinitionError:
    """The error for a streaming DataFrame that keeps state in Spark, because no checkpoint of the
    job can contain this state.

    Args:
        what: verb and object for what the DataFrame does.
    """
    return JobDefinitionError(
        f"from_spark() got a streaming DataFrame that keeps state in Spark (it {what}), which this "
        "job's checkpoints cannot hold; pass what is before that, and do the rest in the job: "
        "key_by(), windows, join()"
    )


def check_stateless(dataframe: Any) -> None:
    """Refuse a streaming DataFrame that keeps state, before anything of the job starts.

    Raises:
        JobDefinitionError: it aggregates, joins streams, drops duplicates, has a limit, or calls
            functions with state.
    """
    nodes = [dataframe._jdf.queryExecution().analyzed()]
    while nodes:
        node = nodes.pop()
        if not node.isStreaming():
            continue  # a bounded side of a join: Spark computes it anew for each micro-batch
        below = node.children()
        children = [below.apply(index) for index in range(below.size())]
        name = str(node.nodeName())
        if name in _STATEFUL:
            raise keeps_state(_STATEFUL[name])
        if "WithState" in name:
            raise keeps_state("calls functions with state")
        if name == "Join" and all(child.isStreaming() for child in children):
            raise keeps_state("joins streams")
        nodes.extend(children)
