"""Top-N and deduplication: the first rows of each partition. Flink: ``Rank``, ``Deduplicate``."""

from __future__ import annotations

from functools import partial

from millrace.expressions.resolved import SortKey
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import StateSignature, clock_identity
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.execution.window_clock import clock_of
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import Deduplicate, Rank, RankKind
from millrace.planner.relational.windows import windows_of
from millrace.table_runtime.rank import RankOperator, RankSpec
from millrace.table_runtime.window_time import WindowTime

__all__ = ["ranked", "translate_deduplicate", "translate_rank"]


@translates(Rank)
def translate_rank(node: Rank, translator: Translator) -> Transformation:
    """The operator of a Top-N; rows go to the subtask of their partition."""
    spec = RankSpec(
        node.input.row_type,
        node.partition,
        node.order,
        node.start,
        node.end,
        node.row_type,
        kind=node.rank_kind.value,
        updates=node.rank_kind is RankKind.ROW_NUMBER
        and (node.rank_name is not None or node.start == node.end),
        retracts=not translator.insert_only(node.input),
        emits_update_before=translator.emits_update_before(node),
        window_end=None if node.window is None else node.window[1],
        state_ttl=0 if node.window else translator.state_ttl(),
        clock=_clock(node, translator),
        batch=translator.settings.batch,
    )
    return ranked(node, "Rank" if node.window is None else "WindowRank", spec, translator)


@translates(Deduplicate)
def translate_deduplicate(node: Deduplicate, translator: Translator) -> Transformation:
    """The operator of a deduplication; by processing time, rows are ordered by arrival."""
    time = (SortKey(node.time, not node.keep_last),) if node.rowtime else ()
    spec = RankSpec(
        node.input.row_type,
        node.keys,
        time,
        1,
        1,
        node.row_type,
        latest_first=node.keep_last,
        updates=True,
        retracts=not translator.insert_only(node.input),
        emits_update_before=translator.emits_update_before(node),
        window_end=None if node.window is None else node.window[1],
        state_ttl=0 if node.window else translator.state_ttl(),
        clock=_clock(node, translator),
        batch=translator.settings.batch,
    )
    name = "Deduplicate" if node.window is None else "WindowDeduplicate"
    return ranked(node, name, spec, translator)


def _clock(node: Rank | Deduplicate, translator: Translator) -> WindowTime:
    """Clock of the windows whose rows are ranked when the window is complete."""
    windows = windows_of(node.input) if node.window is not None else None
    return WindowTime() if windows is None else clock_of(windows.window, translator)


def ranked(node: RelNode, name: str, spec: RankSpec, translator: Translator) -> Transformation:
    """The operator that ranks the rows of a node's input."""
    (rows,) = node.inputs
    names = rows.row_type.names
    keys = ", ".join(names[index] for index in spec.partition)
    order = ", ".join(f"{names[k.index]} {'ASC' if k.ascending else 'DESC'}" for k in spec.order)
    return translator.stateful(
        name,
        partial(RankOperator, spec),
        [translator.keyed(rows, spec.partition)],
        state_signature(rows, spec, translator),
        f"{name}(partitionBy=[{keys}], orderBy=[{order}], rankRange=[{spec.start}, {spec.end}])",
    )


def state_signature(ranked_rows: RelNode, spec: RankSpec, translator: Translator) -> StateSignature:
    """Signature of the state: ranked rows and candidates per partition. It includes the first rank,
    because this decides which rows are in the state.
    """
    rows = translator.provenance(translator.input(ranked_rows))
    return StateSignature.of(
        rows,
        kept=rows.columns,
        partition=rows.at(spec.partition),
        order=rows.order(spec.order),
        ranks=(spec.start, spec.end, spec.kind, spec.latest_first),
        window_end=None if spec.window_end is None else rows.columns[spec.window_end],
        clock=clock_identity(spec.clock),
        retracts=spec.retracts,
    )
