"""Sinks of queries: tables that are written, and rows for the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from millrace.common.config import table_options
from millrace.common.config.config_options import ConfigOption
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import Sink
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import RowKind
from millrace.job_graph.transformation import Role, Transformation
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import SinkRequest, table_factory
from millrace.planner.execution.table_options import errors_of_connector
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.sink_nodes import CollectSink, LogicalSink
from millrace.planner.relational.unsupported_query import errors_shown_at
from millrace.runtime.write_ahead import WriteAheadSink
from millrace.table_runtime.collect import CollectColumnsOperator
from millrace.table_runtime.sink_constraints import SinkConstraints
from millrace.table_runtime.table_sink import TableSinkOperator

__all__ = ["constraints_on", "repeats_writes", "translate_collect", "translate_sink"]


def repeats_writes(root: RelNode) -> bool:
    """Whether a tree's root is a sink that writes by key and at least once."""
    if not isinstance(root, LogicalSink):
        return False
    hints = dict(root.options)
    options = {**root.table.options, **hints}
    with errors_of_connector(root.table, hints, root.place):
        return table_factory(root.table, options).repeats_writes(root.table, options)


@translates(LogicalSink)
def translate_sink(node: LogicalSink, translator: Translator) -> Transformation:
    """The sink that the table's connector creates."""
    table: ResolvedTable = node.table
    options = {**table.options, **dict(node.options)}
    source = translator.input(node.input)
    request = SinkRequest(
        table,
        table.sink_type,
        options,
        node.overwrite,
        node.partition,
        translator.insert_only(node.input),
        batch=translator.settings.batch,
        ordinal=translator.sink_ordinal(),
    )
    with errors_of_connector(table, dict(node.options), node.place):
        sink = _created(request)
    logged = _writes_ahead(node, translator)
    if logged:
        sink = WriteAheadSink(sink)
    parallelism = int(options.get("sink.parallelism", source.transformation.parallelism))
    names = ", ".join(table.sink_type.names)
    if table.primary_key and parallelism != source.transformation.parallelism:
        # else rows of a key could overtake each other
        source = translator.keyed(node.input, table.sink_key)
    made = Transformation(
        name=f"{table.path[-1]}[{translator.number()}]",
        role=Role.SINK,
        factory=partial(
            TableSinkOperator,
            sink,
            table.sink_type.names,
            _constraints(node, translator),
            _upsert_key(table),
        ),
        inputs=(source,),
        parallelism=parallelism,
        sink=sink,
        functions=(sink,),
        description=f"Sink(table=[{'.'.join(table.path)}], fields=[{names}]"
        f"{', writeAhead=[true]' if logged else ''})",
    )
    return translator.end(made, ascii(table.path))


def _created(request: SinkRequest) -> Sink[Any]:
    """The sink that the table's connector creates.

    Raises:
        JobDefinitionError: the connector cannot write the table so.
    """
    factory = table_factory(request.table, request.options)
    if request.overwrite and not factory.overwrite:
        raise factory.refused(
            request.table,
            "overwritten: INSERT OVERWRITE needs a connector that can replace all rows, "
            "such as 'filesystem' in batch mode; with other connectors use TRUNCATE "
            "TABLE, then INSERT INTO",
        )
    return factory.create_sink(request, factory.options_of(request.table, request.options))


def _upsert_key(table: ResolvedTable) -> tuple[int, ...]:
    """Positions of the key, if the sink takes upserts without the rows before them."""
    if not table.accepts or RowKind.UPDATE_BEFORE in table.accepts:
        return ()
    return table.sink_key


def _writes_ahead(node: LogicalSink, translator: Translator) -> bool:
    """Whether the sink's writes wait for their checkpoint, because immediate writes could leave
    rows of a lost epoch."""
    option = translator.settings.options.get(table_options.WRITE_AHEAD.key, "NONE")
    if option == "NONE" or translator.settings.batch or not repeats_writes(node):
        return False
    return option == "FORCE" or translator.leaves_lost_rows(node)


def _constraints(node: LogicalSink, translator: Translator) -> SinkConstraints | None:
    """Constraints on rows written to the table; None if there are none."""
    table = node.table
    with errors_shown_at(node.place):
        made = constraints_on(table.sink_type, translator.settings.options, table.path[-1])
    return made and replace(made, keys=frozenset(table.primary_key or ()))


def constraints_on(
    row_type: RowType, options: Mapping[str, Any], table: str | None = None
) -> SinkConstraints | None:
    """Constraints that rows of a type must meet when they are written; None if there are none.

    Args:
        options: options of the session by key.
        table: name of the table into which the rows are written; None for the result of a query.

    Raises:
        JobDefinitionError: the options contradict each other.
    """

    def chosen(option: ConfigOption[str]) -> str:
        return str(options.get(option.key, option.default))

    lengths = chosen(table_options.TYPE_LENGTH_ENFORCER)
    nested = chosen(table_options.NESTED_CONSTRAINT_ENFORCER)
    if lengths == "TRIM_PAD" and nested == "ROWS_AND_COLLECTIONS":
        raise JobDefinitionError(
            "Trimming and/or padding is not supported if constraint checking is enabled on types "
            f"nested in collections: set {table_options.TYPE_LENGTH_ENFORCER.key!r} = 'ERROR', or "
            f"{table_options.NESTED_CONSTRAINT_ENFORCER.key!r} = 'ROWS'"
        )
    types = [field.type for field in row_type.fields]
    if lengths == nested == "IGNORE" and all(kind.is_nullable for kind in types):
        return None
    drops = chosen(table_options.NOT_NULL_ENFORCER) == "DROP"
    return SinkConstraints(table, row_type, drops, lengths, nested)


@translates(CollectSink)
def translate_collect(node: CollectSink, translator: Translator) -> Transformation:
    """The sink that sends rows to the client, from the subtasks that produce them."""
    source = translator.input(node.input)
    constraints = constraints_on(node.declared or node.row_type, translator.settings.options)
    made = Transformation(
        name=f"Collect[{translator.number()}]",
        role=Role.COLLECT,
        factory=partial(CollectColumnsOperator, constraints),
        inputs=(source,),
        parallelism=source.transformation.parallelism,
        description=f"Collect(fields=[{', '.join(node.row_type.names)}])",
    )
    return translator.end(made, node.identifier)
