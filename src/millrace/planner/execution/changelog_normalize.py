"""Completion of upsert sources to full changelogs. Flink: ``ChangelogNormalize``."""

from __future__ import annotations

from functools import partial

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.stream_rel_nodes import ChangelogNormalize
from millrace.table_runtime.changelog_normalize import (
    ChangelogNormalizeOperator,
    ChangelogNormalizeSpec,
)

__all__ = ["translate_changelog_normalize"]


@translates(ChangelogNormalize)
def translate_changelog_normalize(
    node: ChangelogNormalize, translator: Translator
) -> Transformation:
    """The operator of a `ChangelogNormalize`; rows go to the subtask of their key."""
    before = translator.emits_update_before(node)
    spec = ChangelogNormalizeSpec(
        node.row_type, node.keys, before, translator.state_ttl(), translator.repeatable(node)
    )
    names = ", ".join(node.row_type.names[index] for index in node.keys)
    return translator.stateful(
        "ChangelogNormalize",
        partial(ChangelogNormalizeOperator, spec),
        [translator.keyed(node.input, node.keys)],
        state_signature(node, translator),
        f"ChangelogNormalize(key=[{names}])",
    )


def state_signature(node: ChangelogNormalize, translator: Translator) -> StateSignature:
    """Signature of the state: the last row of each key."""
    rows = translator.provenance(translator.input(node.input))
    return StateSignature.of(rows, kept=rows.columns, keys=rows.at(node.keys))
