"""Materialization of the last row of each key for a sink. Flink: ``SinkUpsertMaterializer``."""

from __future__ import annotations

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.rank import ranked
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.stream_rel_nodes import UpsertMaterialize
from millrace.table_runtime.rank import RankSpec

__all__ = ["translate_upsert_materialize"]


@translates(UpsertMaterialize)
def translate_upsert_materialize(node: UpsertMaterialize, translator: Translator) -> Transformation:
    """The operator that keeps the rows of each key and emits the latest of them."""
    spec = RankSpec(
        node.input.row_type,
        node.keys,
        (),
        1,
        1,
        node.row_type,
        latest_first=True,
        updates=True,
        emits_update_before=translator.emits_update_before(node),
        state_ttl=translator.state_ttl(),
        repeatable=translator.repeatable(node),
    )
    return ranked(node, "SinkUpsertMaterializer", spec, translator)
