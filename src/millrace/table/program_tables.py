"""`ProgramTables`: tables made from a program's objects, and from frames of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from millrace.common.config import options
from millrace.common.errors import JobDefinitionError
from millrace.common.source import Source
from millrace.common.types.logical.arrow_type import logical_row_type
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import ALL_ROW_KINDS, INSERT_ONLY, RowKind
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, ScanRequest, TableFactory
from millrace.table.data_stream_tables import declared_rows
from millrace.table.elements import elements_table
from millrace.table.expression import Expression
from millrace.table.expressions import col
from millrace.table.frames import arrow_of_pandas, arrow_of_polars, frame_batch
from millrace.table.schema import Schema
from millrace.table.table import Table
from millrace.table.table_session import TableSession
from millrace.table_runtime.record_batch_source import RecordBatchSource

__all__ = ["ProgramTables"]

Declared = LogicalType | Sequence[str] | Sequence[LogicalType] | None


class ProgramTables:
    """Base class of `TableEnvironment` with the methods that make tables from objects and frames.

    Columns of frames stay columns all the way.
    """

    _session: TableSession

    def from_elements(
        self,
        elements: Iterable[Any],
        schema: Declared = None,
        verify_schema: bool = True,
    ) -> Table:
        """A table of Python objects (rows, tuples, dicts, values of one column), or of expressions.

        Args:
            schema: a row type, the type of the one column, or names of the columns, whose types
                are found in the values.
            verify_schema: whether None is refused in columns that are NOT NULL; values of other
                types are refused in any case.

        Raises:
            JobDefinitionError, JobExecutionError: the objects do not fit the schema.
        """
        given = list(elements)
        if given and all(isinstance(element, Expression) for element in given):
            return self._of_expressions(given, schema)
        row_type, data, kinds = elements_table(given, schema, verify_schema)
        return self._of_batch(row_type, data, kinds)

    def from_pandas(self, pdf: Any, schema: Declared = None, splits_num: int = 1) -> Table:
        """A table of a pandas DataFrame's rows, without its index.

        Args:
            schema: a row type, or names of the columns, or their types.
            splits_num: maximum number of subtasks that read the table.

        Raises:
            JobDefinitionError, JobExecutionError: a column has no one type, or does not fit the
                schema.
        """
        row_type, data = frame_batch(arrow_of_pandas(pdf), schema)
        return self._of_batch(row_type, data, None, splits_num)

    def from_arrow(self, data: Any, schema: Declared = None, splits_num: int = 1) -> Table:
        """A table of Arrow columns. They are shipped with the program, so they should be small. For
        large ones, use [files](../sql/connectors.md) or `from_spark`.

        Args:
            data: a `pyarrow.Table`, RecordBatch or RecordBatchReader, or any object that exports a
                stream of Arrow (``__arrow_c_stream__``), as relations of DuckDB do.
            schema: a row type, or names of the columns.
            splits_num: maximum number of subtasks that read the table.

        Raises:
            JobDefinitionError, JobExecutionError: it is no such object, or a column has a type that
                Flink does not know or does not fit the schema.

        Example:
            >>> import pyarrow as pa
            >>> from millrace.table import EnvironmentSettings, TableEnvironment
            >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
            >>> table = t_env.from_arrow(pa.table({"n": [1, 2], "s": ["a", None]}))
            >>> table.get_schema().get_field_names()
            ['n', 's']
        """
        row_type, batch = frame_batch(data, schema)
        return self._of_batch(row_type, batch, None, splits_num)

    def from_polars(self, frame: Any, schema: Declared = None, splits_num: int = 1) -> Table:
        """A table of the rows of a Polars DataFrame, or of a LazyFrame, which is computed.

        Args:
            schema: a row type, or names of the columns.
            splits_num: maximum number of subtasks that read the table.

        Raises:
            JobDefinitionError, JobExecutionError: ``frame`` is not a frame of Polars, or a column
                does not fit.
        """
        row_type, batch = frame_batch(arrow_of_polars(frame), schema)
        return self._of_batch(row_type, batch, None, splits_num)

    def from_spark(
        self,
        dataframe: Any,
        schema: Schema | None = None,
        *,
        repeatable: bool = False,
        trigger: Mapping[str, Any] | None = None,
    ) -> Table:
        """A table of a Spark DataFrame's rows, bounded or streaming. Spark computes them in its
        workers, where they stay; only the query's columns are read.

        Args:
            schema: the table's columns by name, with their declared types, or only computed columns
                and a watermark. None for the DataFrame's columns.
            repeatable: whether a bounded DataFrame has the same rows in the same partitions each
                time it is computed. If not, Spark first writes the rows to files, which the job
                reads.
            trigger: times of the micro-batches of a streaming DataFrame, as the arguments of
                `pyspark.sql.streaming.DataStreamWriter.trigger`.

        Raises:
            JobDefinitionError: it is no DataFrame of PySpark, a column has a type that Flink does
                not have, or an option is for the other kind of DataFrame.

        Example::

            ticks = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
            schema = (
                Schema.new_builder()
                .column("timestamp", "TIMESTAMP_LTZ(3)")
                .column("value", "BIGINT")
                .watermark("timestamp", "`timestamp` - INTERVAL '1' SECOND")
                .build()
            )
            t_env.from_spark(ticks, schema).where(col("value") > 10).execute().print()
        """
        from millrace.spark.connector import dataframe_source
        from millrace.spark.feeds import arrow_schema

        row_type = logical_row_type(arrow_schema(dataframe))
        directory = self._session.config.get_configuration().get(options.CHECKPOINTING_DIR)
        streaming = bool(dataframe.isStreaming)

        def source(columns: Sequence[str]) -> Source[Any]:
            wanted = dataframe.select(*(f"`{name.replace('`', '``')}`" for name in columns))
            return dataframe_source(wanted, directory, repeatable, trigger)

        source(row_type.names)  # which refuses options that do not fit
        access = _ProgramSource(source, INSERT_ONLY, "a DataFrame of Spark")
        return self._of_columns(row_type, schema or Schema(), access, "dataframe", not streaming)

    def _of_expressions(self, rows: list[Expression], schema: Declared) -> Table:
        """A table with one row per expression; each expression is a row, and is cast to the row
        type if one is declared."""
        row_type, data, kinds = elements_table([(True,)], ["_"])
        one = self._of_batch(row_type, data, kinds)
        if isinstance(schema, LogicalType):
            rows = [row.cast(schema) for row in rows]
        tables = (one.select(row.alias("_row")) for row in rows)
        made = reduce(Table.union_all, tables).select(col("_row").flatten)
        if isinstance(schema, RowType):
            return made.alias(*schema.names)
        if isinstance(schema, LogicalType) or not schema:
            return made
        return made.alias(*map(str, schema))

    def _of_batch(self, row_type: RowType, data: Any, kinds: Any, splits: int = 1) -> Table:
        changes = INSERT_ONLY if kinds is None else ALL_ROW_KINDS
        source = RecordBatchSource(data, kinds, splits)
        access = _ProgramSource(lambda columns: source, changes, "Python objects")
        return self._of_columns(row_type, Schema(), access, "elements", bounded=True)

    def _of_columns(
        self, row_type: RowType, schema: Schema, access: _ProgramSource, kind: str, bounded: bool
    ) -> Table:
        known = [(field.name, field.type) for field in row_type.fields]
        only = any(column.kind is ColumnKind.PHYSICAL for column in schema.columns)
        rows = declared_rows(self._session, known, schema, access, kind, bounded, only)
        return Table(self._session, rows)


@dataclass(frozen=True)
class _ProgramSource(TableFactory):
    """The source of a table of the program, which has no connector and cannot be written.

    Attributes:
        make: makes the source of the columns with the given names; the source may have more
            columns.
        row_kinds: kinds of its rows.
        content: content of the table, for errors.
    """

    make: Callable[[Sequence[str]], Source[Any]]
    row_kinds: frozenset[RowKind]
    content: str

    def options_of(self, table: ResolvedTable, options: Mapping[str, str]) -> OptionValues:
        """The options as they are: there is no connector that knows any."""
        return OptionValues(options)

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        return self.make(request.columns.names)

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return self.row_kinds

    def refused(self, table: ResolvedTable, how: str) -> JobDefinitionError:
        return JobDefinitionError(f"a table of {self.content} cannot be {how}")
