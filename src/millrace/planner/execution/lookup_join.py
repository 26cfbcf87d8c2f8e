"""Joins with FOR SYSTEM_TIME AS OF processing time, with a table's current rows. Flink:
``LookupJoin``."""

from __future__ import annotations

from functools import partial

from millrace.common.functions.lookup_functions import ScanningLookupFunction
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Transformation
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.lookup_options import lookup_behaviour, lookup_hint
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.state_signature import Provenance
from millrace.planner.execution.table_factory import LookupRequest, table_factory
from millrace.planner.execution.table_options import errors_of_connector
from millrace.planner.execution.temporal_join import with_columns
from millrace.planner.execution.translation import Translator
from millrace.planner.relational.rel_node import Join, JoinKind, TableScan
from millrace.planner.relational.rewriting import conjunction
from millrace.planner.relational.snapshots import SnapshotSide
from millrace.planner.relational.stream_rel_nodes import ChangelogNormalize, WatermarkAssigner
from millrace.planner.relational.unsupported_query import errors_shown_at
from millrace.table_runtime.lookup_join import LookupJoinOperator, LookupJoinSpec

__all__ = ["lookup_join"]


def lookup_join(
    node: Join, side: SnapshotSide, name: str, translator: Translator
) -> Transformation:
    """The operator of a look-up join; it runs in the subtasks of its left input or, with the
    shuffle hint, by key.

    Args:
        name: name of the table, for hints.

    Raises:
        UnsupportedQueryError: the table cannot be looked up, or there is no key.
    """
    side = side.lowest()
    while isinstance(side.rows, WatermarkAssigner | ChangelogNormalize):
        side = side.over(side.rows.input).lowest()
    scan = side.rows
    if not isinstance(scan, TableScan) or not scan.table.lookup:
        raise node.refusal(
            "Processing-time temporal join is not supported yet: by processing time, only a table "
            "that can be looked up by key can be joined, such as one with 'connector' = 'jdbc', "
            f"and {name} cannot; join it AS OF an event time of the left side, or without FOR "
            "SYSTEM_TIME"
        )
    table: ResolvedTable = scan.table
    equal, residual = side.equalities(node)
    if not equal:
        raise node.refusal(
            f"Temporal table join requires an equality condition on fields of table {name}: "
            "compare one of its columns with an expression of the same type"
        )
    path = ".".join(table.path)
    options = {**table.options, **dict(scan.options)}
    width = len(node.left.row_type)
    left, keys = with_columns(node.left, list(equal.values()))
    names = tuple(scan.row_type.names[index] for index in equal)
    session = translator.settings.session or SessionSettings()
    with errors_shown_at(node.place):
        hint = lookup_hint(node.hints, (name, table.path[-1]))
    with errors_of_connector(table, dict(scan.options), node.place):
        factory = table_factory(table, options)
        request = LookupRequest(table, scan.row_type, names, options)
        function = factory.create_lookup(request, factory.options_of(table, options))
        settings = lookup_behaviour(path, options, hint, session.time_zone)
    spec = LookupJoinSpec(
        (left.row_type, scan.row_type),
        keys,
        width,
        side.columns,
        conjunction(side.conditions) if side.conditions else None,
        conjunction(residual) if residual else None,
        node.kind is JoinKind.LEFT,
        node.row_type,
    )
    if settings.reload is not None and not isinstance(function, ScanningLookupFunction):
        raise node.refusal(
            f"table {path}: its connector looks up by key but does not read the whole table for "
            "'lookup.cache' = 'FULL'; take 'PARTIAL', or make its look-up a "
            "ScanningLookupFunction"
        )
    source = translator.keyed(left, keys) if hint["shuffle"] else translator.input(left)
    return translator.stateless(
        "LookupJoin",
        partial(LookupJoinOperator, spec, function, settings, session),
        [source],
        _gives(node.kind, table, names, spec, translator.provenance(source)),
        f"LookupJoin(table=[{path}], joinType=[{node.kind.value}], lookup=[{', '.join(names)}], "
        f"where=[{node.condition}])",
    )


def _gives(
    kind: JoinKind,
    table: ResolvedTable,
    names: tuple[str, ...],
    spec: LookupJoinSpec,
    rows: Provenance,
) -> Provenance:
    """Meaning of the result: one row per row that is looked up."""
    lookup_digest = digest(table.path, names, rows.at(spec.keys))
    there = rows.with_columns([digest(lookup_digest, name) for name in spec.types[1].names])
    right = there.with_columns([there.column(column) for column in spec.columns])
    left = rows.with_columns(rows.columns[: spec.shown])
    condition = left.beside(right).expression(spec.condition)
    return rows.with_columns(
        (*left.columns, *right.columns),
        *(lookup_digest, kind, there.expression(spec.there), condition),
    )
