"""ORDER BY, OFFSET and LIMIT, in one subtask. Flink: ``Sort``, ``SortLimit``, ``Limit``."""

from __future__ import annotations

import sys
from functools import partial

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.rank import ranked
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rel_node import Sort
from millrace.planner.relational.stream_rel_nodes import TimeAttribute
from millrace.table_runtime.rank import RankSpec
from millrace.table_runtime.sort_limit import SortLimitOperator
from millrace.table_runtime.temporal_sort import TemporalSortOperator

__all__ = ["translate_sort"]


@translates(Sort)
def translate_sort(node: Sort, translator: Translator) -> Transformation:
    """The operator of a sort. Batch mode keeps all rows until the input ends. A stream supports a
    LIMIT (as Top-N) or a sort by time.

    Raises:
        UnsupportedQueryError: all rows of a stream that updates rows are to be sorted.
    """
    if not translator.settings.batch:
        return _of_stream(node, translator)
    names = node.row_type.names
    order = ", ".join(f"{names[k.index]} {'ASC' if k.ascending else 'DESC'}" for k in node.keys)
    limit = "" if node.fetch is None else f", offset=[{node.offset}], fetch=[{node.fetch}]"
    made = translator.stateful(
        "SortLimit" if node.fetch is not None else "Sort",
        partial(SortLimitOperator, node.row_type, node.keys, node.offset, node.fetch),
        [translator.keyed(node.input, ())],
        state_signature(node, translator),
        f"Sort(orderBy=[{order}]{limit})",
    )
    return made


def _of_stream(node: Sort, translator: Translator) -> Transformation:
    if node.fetch is None and not node.offset:
        return _temporal_sort(node, translator)
    spec = RankSpec(
        node.input.row_type,
        (),
        node.keys,
        node.offset + 1,
        sys.maxsize if node.fetch is None else node.offset + node.fetch,
        node.row_type,
        retracts=not translator.insert_only(node.input),
        emits_update_before=translator.emits_update_before(node),
        state_ttl=translator.state_ttl(),
    )
    return ranked(node, "SortLimit" if node.keys else "Limit", spec, translator)


def _temporal_sort(node: Sort, translator: Translator) -> Transformation:
    """A sort by time; `millrace.planner.inference.refusals` makes sure that the first key is a
    time attribute."""
    if not translator.insert_only(node.input):
        raise node.refusal(
            "ORDER BY time without LIMIT gives rows once they are complete, and these rows are "
            "updated later: add LIMIT, or use EnvironmentSettings.in_batch_mode()"
        )
    first, names = node.keys[0].index, node.row_type.names
    by_event_time = time_attributes(node.input).get(first) is TimeAttribute.ROWTIME
    rowtime, keys = (first, node.keys) if by_event_time else (None, node.keys[1:])
    order = ", ".join(f"{names[k.index]} {'ASC' if k.ascending else 'DESC'}" for k in node.keys)
    return translator.stateful(
        "TemporalSort",
        partial(TemporalSortOperator, node.input.row_type, keys, rowtime),
        [translator.keyed(node.input, ())],
        temporal_state_signature(node, rowtime, translator),
        f"TemporalSort(orderBy=[{order}])",
    )


def state_signature(node: Sort, translator: Translator) -> StateSignature:
    """Signature of the state: rows that may still be among the first."""
    rows = translator.provenance(translator.input(node.input))
    return StateSignature.of(
        rows, kept=rows.columns, order=rows.order(node.keys), range=(node.offset, node.fetch)
    )


def temporal_state_signature(
    node: Sort, rowtime: int | None, translator: Translator
) -> StateSignature:
    """Signature of the state: rows that the watermark has not passed. The order of rows with
    equal times is left out: they are sorted when they are emitted."""
    rows = translator.provenance(translator.input(node.input))
    time = None if rowtime is None else rows.columns[rowtime]
    return StateSignature.of(rows, kept=rows.columns, time=time)
