"""Scans of tables, with the table's watermark pushed into the source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from millrace.common.source import Boundedness, Source
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import INSERT_ONLY
from millrace.expressions.evaluation import compiled
from millrace.expressions.resolved import Call, ResolvedExpression
from millrace.job_graph.transformation import Role, Transformation
from millrace.planner.catalog_reader import SOURCE_WATERMARK, ColumnKind, ResolvedTable
from millrace.planner.execution.calc import composed
from millrace.planner.execution.table_factory import DataStreamAccess, ScanRequest, table_factory
from millrace.planner.execution.table_options import errors_of_connector
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.rel_node import Project, TableScan
from millrace.planner.relational.stream_rel_nodes import WatermarkAssigner
from millrace.table_runtime.data_stream_scan import DataStreamScanOperator
from millrace.table_runtime.table_source import TableSourceOperator

__all__ = ["translate_scan"]


@translates(TableScan)
def translate_scan(node: TableScan, translator: Translator) -> Transformation:
    """The source of a table, with its rows in columns."""
    return _source(node, translator)


@translates(WatermarkAssigner)
def translate_watermark(node: WatermarkAssigner, translator: Translator) -> Transformation:
    """The input with the watermark pushed into its source, through the computed columns between,
    so that each split has its own watermark."""
    expression, scan = node.watermark, node.input
    while isinstance(scan, Project):
        expression = composed(expression, scan.expressions)
        scan = scan.input
    if not isinstance(scan, TableScan):
        raise node.refusal("only a table can have a watermark declaration")
    translator.replace(scan, _source(scan, translator, expression))
    return translator.translate(node.input)


def _source(
    node: TableScan, translator: Translator, watermark: ResolvedExpression | None = None
) -> Transformation:
    table: ResolvedTable = node.table
    if isinstance(table.source, DataStreamAccess):
        return _data_stream(node, table.source, translator, watermark)
    if is_source_watermark(watermark):
        raise node.refusal(
            "SOURCE_WATERMARK() is only for tables made from a stream; table "
            f"{'.'.join(node.path)} needs an expression of its columns"
        )
    options = {**table.options, **dict(node.options)}
    settings = translator.settings
    request = ScanRequest(
        table,
        node.row_type,
        _metadata(table, node.row_type.names),
        options,
        node.pushed_filter,
        node.limit,
        settings.batch,
    )
    with errors_of_connector(table, dict(node.options), node.place):
        factory = table_factory(table, options)
        source = factory.create_source(request, factory.options_of(table, options))
    _require_bounded(source, node, settings.batch)
    made = Transformation(
        name=f"{node.path[-1]}[{translator.number()}]",
        role=Role.SOURCE,
        factory=partial(
            TableSourceOperator,
            source,
            node.row_type,
            None if watermark is None else compiled(watermark, node.row_type, settings.session),
            idle_timeout=_idle_timeout(options, settings),
            table=table.scan_type.names,
            inserts_only=not table.changes - INSERT_ONLY,
        ),
        inputs=(),
        parallelism=_parallelism(options, settings.parallelism),
        functions=(source,),
        source=source,
        description=_description(node),
    )
    # options may change between runs, as passwords and rates do; the place in the source stays
    identity = ascii(((node.path, options.get("connector", "")),))
    translator.begin(made, identity, _columns(table, node.row_type))
    if node.pushed_filter is not None and table.changes != INSERT_ONLY:
        translator.narrow(made, node.pushed_filter)
    return made


def _columns(table: ResolvedTable, row_type: RowType) -> list[object]:
    """Identity of each column in the source."""
    metadata = _metadata(table, row_type.names)
    return [
        (field.name in metadata, metadata.get(field.name, field.name), field.type)
        for field in row_type.fields
    ]


def _data_stream(
    node: TableScan,
    access: DataStreamAccess,
    translator: Translator,
    watermark: ResolvedExpression | None,
) -> Transformation:
    """The records of a stream of the program, as columns."""
    table: ResolvedTable = node.table
    metadata = _metadata(table, node.row_type.names)
    for name, key in metadata.items():
        if key != "rowtime":
            raise node.refusal(
                f"a stream has the metadata 'rowtime' only: {name!r} is declared FROM {key!r}"
            )
    own = watermark is None or is_source_watermark(watermark)
    session = translator.settings.session
    return translator.begin(
        Transformation(
            name=f"DataStreamScan[{translator.number()}]",
            role=Role.OPERATOR,
            factory=partial(
                DataStreamScanOperator,
                node.row_type,
                tuple(
                    column.name for column in table.columns if column.kind is ColumnKind.PHYSICAL
                ),
                tuple(metadata),
                None if own or watermark is None else compiled(watermark, node.row_type, session),
                inserts_only=not table.changes - INSERT_ONLY,
            ),
            inputs=access.inputs,
            parallelism=max(source.transformation.parallelism for source in access.inputs),
            description=_description(node),
        ),
        ascii(node.path),
        _columns(table, node.row_type),
    )


def is_source_watermark(expression: ResolvedExpression | None) -> bool:
    """Whether the table uses the watermarks of its stream (SOURCE_WATERMARK)."""
    return isinstance(expression, Call) and expression.function is SOURCE_WATERMARK


def _metadata(table: ResolvedTable, names: tuple[str, ...]) -> Mapping[str, str]:
    return {
        column.name: column.metadata_key or column.name
        for column in table.columns
        if column.kind is ColumnKind.METADATA and column.name in names
    }


def _require_bounded(source: Source[Any], node: TableScan, batch: bool) -> None:
    if batch and source.boundedness is not Boundedness.BOUNDED:
        raise node.refusal(
            f"table {'.'.join(node.path)} never ends, so it cannot be read in batch mode; bound it "
            "by its options, or use EnvironmentSettings.in_streaming_mode()"
        )


def _idle_timeout(options: Mapping[str, str], settings: Any) -> int | None:
    from millrace.common.time.amounts import Duration

    text = options.get("scan.watermark.idle-timeout")
    if text is not None:
        return Duration.parse(text).to_millis() or None
    timeout: int | None = settings.options.get("table.exec.source.idle-timeout")
    return timeout or None


def _parallelism(options: Mapping[str, str], default: int) -> int:
    text = options.get("scan.parallelism")
    return default if text is None else int(text)


def _description(node: TableScan) -> str:
    fields = ", ".join(node.row_type.names)
    pushed = "" if node.pushed_filter is None else f", filter=[{node.pushed_filter}]"
    return f"TableSourceScan(table=[[{', '.join(node.path)}]{pushed}], fields=[{fields}])"
