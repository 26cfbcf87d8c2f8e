"""`TableSession`: catalogs, options and execution, which statements and tables share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from millrace.common.config import options, table_options
from millrace.common.config.configuration import Configuration
from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.errors import ConfigurationError
from millrace.common.types.logical.logical_type import RowType
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.expressions.resolved import ResolvedExpression
from millrace.job_graph.job_graph import JobGraph
from millrace.job_graph.transformation import Transformation
from millrace.planner.binder.query import bind_expression, bind_query
from millrace.planner.catalog_reader import ResolvedTable, ResolvedView
from millrace.planner.execution.sink import repeats_writes
from millrace.planner.execution.table_factory import SinkRequest, table_factory
from millrace.planner.execution.translation import TranslationSettings, Translator
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.planner.inference.refusals import require_supported
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.sink_nodes import CollectSink, LogicalSink
from millrace.planner.rules.changelog_normalization import SourceChangelogs
from millrace.planner.rules.optimizer import optimized
from millrace.planner.rules.subplan_reuse import with_reused_subplans
from millrace.planner.rules.upsert_materialization import with_upsert_materialization
from millrace.sql.parser import parse_expression, parse_query
from millrace.table.catalog.catalog_manager import CatalogManager
from millrace.table.catalog.catalog_objects import CatalogTable
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.catalog.table_resolution import (
    SessionCatalog,
    resolved_columns,
    resolved_table,
)
from millrace.table.environment_settings import EnvironmentSettings
from millrace.table.session_jobs import SessionJobs
from millrace.table.table_config import TableConfig
from millrace.table.table_result import TableResult

__all__ = ["ANONYMOUS", "TableSession"]

ANONYMOUS = "*anonymous_"
"""Prefix of the names of anonymous tables."""

_NODE_OPTIONS = (
    table_options.MODEL_CHANGE,
    table_options.NOT_NULL_ENFORCER,
    table_options.TYPE_LENGTH_ENFORCER,
    table_options.NESTED_CONSTRAINT_ENFORCER,
    table_options.WRITE_AHEAD,
)
"""Options that only one kind of node reads."""


class TableSession:
    """Catalogs, options and the environment of jobs."""

    def __init__(
        self, settings: EnvironmentSettings, env: StreamExecutionEnvironment | None = None
    ) -> None:
        given = settings.get_configuration()
        self.env = env or StreamExecutionEnvironment.get_execution_environment(given)
        self.settings = settings
        self.config = TableConfig(given)
        self.catalogs = CatalogManager(
            settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
        )
        self.jobs = SessionJobs()
        self._anonymous = 0
        _ = self.streaming  # a mode that tables do not have is refused at once
        self.reader = SessionCatalog(self.catalogs, self.bind_expression)

    @property
    def streaming(self) -> bool:
        """Whether queries run over streams. The session's option ``execution.runtime-mode``
        decides; if it is not set, the mode of the environment that runs the session's jobs.

        Raises:
            ConfigurationError: the option ``execution.runtime-mode`` does not determine the mode.
        """
        return self._mode() is RuntimeExecutionMode.STREAMING

    def _mode(self) -> RuntimeExecutionMode:
        mode, own = self.env.get_config().get_runtime_mode(), self.config.get_configuration()
        if own.contains_key(options.RUNTIME_MODE.key):
            mode = RuntimeExecutionMode[own.get(options.RUNTIME_MODE)]
        if mode is RuntimeExecutionMode.AUTOMATIC:
            raise ConfigurationError(
                f"{options.RUNTIME_MODE.key} is AUTOMATIC, which tables do not support: a "
                "query has different plans for streams and for batch mode. Set STREAMING or "
                "BATCH"
            )
        return mode

    # -- names and types ---------------------------------------------------------------

    def bind_expression(self, text: str, row_type: RowType) -> ResolvedExpression:
        """Bind an SQL expression over a row.

        Raises:
            SqlParserError, SqlValidationError: the expression is wrong; the error shows the place.
        """
        return bind_expression(parse_expression(text), row_type, self.reader, text)

    def bind_query(self, query: exp.Expr, text: str) -> RelNode:
        """Bind a query to its relational tree.

        Raises:
            SqlValidationError: a name is unknown, or types do not fit; the error shows where.
        """
        return bind_query(query, self.reader, text)

    def view_query(self, view: ResolvedView) -> RelNode:
        """The rows of a view, under the names of its query."""
        if isinstance(view.query, RelNode):
            return view.query
        catalog = view.catalog or self.reader
        return bind_query(parse_query(view.query), catalog, view.query)

    def view_type(self, view: ResolvedView) -> RowType:
        """Names and types of the columns of a view."""
        row_type = self.view_query(view).row_type
        if not view.names:
            return row_type
        fields = zip(view.names, row_type.fields, strict=True)
        return RowType(tuple(replace(field, name=name) for name, field in fields))

    def resolved(self, name: Sequence[str], table: CatalogTable) -> ResolvedTable:
        """An unnamed table, resolved."""
        return resolved_table(self.catalogs.qualified(name), table, self.bind_expression)

    def check(self, name: ObjectIdentifier, table: CatalogTable) -> None:
        """Check the expressions of a new table. Its connector is not asked.

        Raises:
            JobDefinitionError: one is wrong.
        """
        resolved_columns(name, table, self.bind_expression)

    def anonymous_name(self, kind: str) -> str:
        """A new name for a table that has none."""
        self._anonymous += 1
        return f"{ANONYMOUS}{kind}${self._anonymous}*"

    # -- running -----------------------------------------------------------------------

    def collect(self, node: RelNode) -> TableResult:
        """Run a query whose rows go to the client."""
        [end] = self.transformations([CollectSink(node, node.row_type)])
        job = self.env.collect_records(end, self._job_name("collect"), self._job_settings())
        if job.client is not None:
            self.jobs.add(job.client)
        return TableResult(
            node.row_type,
            job=job,
            client=job.client,
            streaming=self.streaming,
            time_zone=self.config.get_local_timezone(),
        )

    def insert(self, sinks: Sequence[LogicalSink], planned: bool = False) -> TableResult:
        """Run inserts as one job. With ``planned``, they are already optimised."""
        names = [".".join(sink.table.path) for sink in sinks]
        self._add(sinks, planned)
        replacing = [_replacing(sink) for sink in sinks if sink.overwrite]
        name = self._job_name(f"insert-into_{','.join(names)}")
        client = self.env.build_client(name, self._job_settings())
        self.jobs.add(client)
        if not self.streaming or self.config.get_configuration().get(table_options.DML_SYNC):
            self.env.launcher.run_to_end(client)
        else:
            self.env.launcher.start(client)
        for finish in replacing:
            finish()
        return inserted(names, client)

    def attach(self, sinks: Sequence[LogicalSink]) -> None:
        """Add inserts to the environment's next job, which the program runs."""
        self.share_mode()
        self._add(sinks)

    def share_mode(self) -> None:
        """Give the environment the session's runtime mode, for a job that the program runs. All
        operators of a job, of tables and of streams, must have one mode."""
        self.env.set_runtime_mode(self._mode())

    def _add(self, sinks: Sequence[LogicalSink], planned: bool = False) -> None:
        for end in self.translated(sinks, planned)[1]:
            self.env.add_sink_transformation(end)

    def transformations(self, nodes: Sequence[RelNode]) -> list[Transformation]:
        """The transformations that run the given trees. Nothing is run.

        Raises:
            JobDefinitionError: a query cannot run over streams, or not here.
        """
        return self.translated(nodes)[1]

    def optimized(self, nodes: Sequence[RelNode]) -> list[RelNode]:
        """The optimised trees of bound trees.

        Raises:
            JobDefinitionError: a query cannot run over streams, or not here.
        """
        duplicates = self.config.get_configuration().get(table_options.CDC_EVENTS_DUPLICATE)
        changelogs = SourceChangelogs(duplicates, batch=not self.streaming)
        roots = [optimized(node, changelogs) for node in nodes]
        if self.streaming:
            materialize = self.config.get_configuration().get(table_options.UPSERT_MATERIALIZE)
            roots = [with_upsert_materialization(root, materialize) for root in roots]
        if self.config.get_configuration().get(table_options.REUSE_SUB_PLAN):
            reuse_source = self.config.get_configuration().get(table_options.REUSE_SOURCE)
            roots = with_reused_subplans(roots, reuse_source)
        return roots

    def translated(
        self, nodes: Sequence[RelNode], planned: bool = False
    ) -> tuple[Translator, list[Transformation]]:
        """The transformations of trees, as `transformations` makes them, and the translator,
        which knows the changelog mode of each."""
        roots = nodes if planned else self.optimized(nodes)
        modes = ChangelogModes(roots, self.streaming, list(filter(repeats_writes, roots)))
        if self.streaming:
            for root in roots:
                require_supported(root, modes)
        translator = self._translator(modes)
        return translator, [translator.translate(root) for root in roots]

    def graph(self, ends: Sequence[Transformation]) -> JobGraph:
        """The job graph of the given transformations, for EXPLAIN."""
        return self.env.launcher.graph(ends, self.config.get_configuration(), "explain")

    def executor(self, ends: Sequence[Transformation]) -> str:
        """The executor that the job would get, and why."""
        return self.env.explained_executor(ends, self._job_settings())

    def _translator(self, modes: ChangelogModes) -> Translator:
        configuration = self.config.get_configuration()
        return Translator(
            TranslationSettings(
                parallelism=configuration.get(options.PARALLELISM)
                if configuration.contains_key(options.PARALLELISM.key)
                else self.env.get_parallelism(),
                batch=not self.streaming,
                session=replace(self.config.session(), instant=self._instant()),
                state_ttl=configuration.get(table_options.STATE_TTL).to_millis(),
                options={
                    table_options.SOURCE_IDLE_TIMEOUT.key: configuration.get(
                        table_options.SOURCE_IDLE_TIMEOUT
                    ).to_millis(),
                    **self.node_options(),
                },
            ),
            modes,
        )

    def node_options(self) -> dict[str, Any]:
        """Options that only one kind of node reads, by key."""
        configuration = self.config.get_configuration()
        return {option.key: configuration.get(option) for option in _NODE_OPTIONS}

    def _instant(self) -> int | None:
        """The value of CURRENT_TIMESTAMP and the like in batch mode: the time of the start. None
        in a stream."""
        return None if self.streaming else self.env.launcher.clock.now()

    def _job_settings(self) -> Configuration:
        """The options of the session, for a job that the session runs. The environment keeps its
        own, which the session does not change."""
        settings = Configuration(self.config.get_configuration())
        settings.set(options.RUNTIME_MODE, self._mode().name)
        return settings

    def _job_name(self, default: str) -> str:
        name = self.config.get_configuration().get(options.JOB_NAME)
        return name or default


def _replacing(sink: LogicalSink) -> Callable[[], None]:
    """Action that removes the rows that an INSERT OVERWRITE replaces, after it has ended."""
    table = sink.table
    options = {**table.options, **dict(sink.options)}
    factory = table_factory(table, options)
    request = SinkRequest(table, table.sink_type, options, True, sink.partition, batch=True)
    return factory.replacing(request, factory.options_of(table, options))


def inserted(names: Sequence[str], client: EmbeddedJobClient) -> TableResult:
    """The result of inserts: a column per table with -1 for an unknown number of rows, as in
    Flink."""
    from millrace.common.types.logical.logical_type import BigIntType, RowField
    from millrace.common.types.row import named_row
    from millrace.table.result_kind import ResultKind

    columns = [name if names.index(name) == i else f"{name}_{i}" for i, name in enumerate(names)]
    row_type = RowType(tuple(RowField(name, BigIntType()) for name in columns))
    row = named_row(tuple(columns), [-1] * len(columns))
    return TableResult(row_type, ResultKind.SUCCESS_WITH_CONTENT, [row], client=client)
