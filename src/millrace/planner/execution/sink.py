"""Ends of queries: tables that are written, and rows for the client."""

from __future__ import annotations

from functools import partial

from millrace.common.config import table_options
from millrace.plan.transformation import Role, Transformation
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_access import SinkRequest, TableAccess
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.sink_nodes import CollectSink, LogicalSink
from millrace.planner.relational.unsupported_query import errors_shown_at
from millrace.table_runtime.collect import CollectColumnsOperator
from millrace.table_runtime.table_sink import NotNullEnforcer, TableSinkOperator

__all__ = ["translate_collect", "translate_sink"]


@translates(LogicalSink)
def translate_sink(node: LogicalSink, translator: Translator) -> Transformation:
    """The sink that the table's connector makes."""
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
    access: TableAccess = table.source
    with errors_shown_at(node.place):
        sink = access.create_sink(request)
    parallelism = int(options.get("sink.parallelism", source.transformation.parallelism))
    names = ", ".join(table.sink_type.names)
    if table.primary_key and parallelism != source.transformation.parallelism:
        # else rows of a key could overtake each other
        keys = [table.sink_type.names.index(name) for name in table.primary_key]
        source = translator.keyed(node.input, keys)
    made = Transformation(
        name=f"{table.path[-1]}[{translator.number()}]",
        role=Role.SINK,
        factory=partial(
            TableSinkOperator, sink, table.sink_type.names, _enforcer(node, translator)
        ),
        inputs=(source,),
        parallelism=parallelism,
        sink=sink,
        functions=(sink,),
        description=f"Sink(table=[{'.'.join(table.path)}], fields=[{names}])",
    )
    return translator.end(made, ascii(table.path))


def _enforcer(node: LogicalSink, translator: Translator) -> NotNullEnforcer | None:
    """What keeps NULL out of the table; None: the query gives none where the table has none."""
    wanted, given = node.table.sink_type.fields, node.input.row_type.fields
    columns = tuple(
        (position, field.name)
        for position, (field, query) in enumerate(zip(wanted, given, strict=True))
        if query.type.is_nullable and not field.type.is_nullable
    )
    drops = translator.settings.options.get(table_options.NOT_NULL_ENFORCER.key) == "DROP"
    return NotNullEnforcer(columns, node.table.path[-1], drops) if columns else None


@translates(CollectSink)
def translate_collect(node: CollectSink, translator: Translator) -> Transformation:
    """Rows for the client, from the subtasks that have them."""
    source = translator.input(node.input)
    made = Transformation(
        name=f"Collect[{translator.number()}]",
        role=Role.COLLECT,
        factory=CollectColumnsOperator,
        inputs=(source,),
        parallelism=source.transformation.parallelism,
        description=f"Collect(fields=[{', '.join(node.row_type.names)}])",
    )
    return translator.end(made, node.identifier)
