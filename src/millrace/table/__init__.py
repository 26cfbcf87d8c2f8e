"""SQL and the Table API: tables, catalogs, and queries over streams and bounded data.

Names and module paths are PyFlink's: ``from pyflink.table import ...`` becomes
``from millrace.table import ...``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.missing_modules import explain_missing_names
from millrace.other_paths import late_directory, late_names

if TYPE_CHECKING:
    from millrace.common.types.changelog_mode import ChangelogMode
    from millrace.common.types.row import Row, RowKind
    from millrace.expressions.function_context import FunctionContext
    from millrace.table.catalog.resolved_schema import ResolvedSchema
    from millrace.table.compiled_plan import CompiledPlan
    from millrace.table.data_types import DataTypes
    from millrace.table.data_view import DataView, ListView, MapView
    from millrace.table.environment_settings import EnvironmentSettings
    from millrace.table.explain_detail import ExplainDetail
    from millrace.table.expression import Expression
    from millrace.table.functions.temporal_table_function import TemporalTableFunction
    from millrace.table.model import Model
    from millrace.table.model_descriptor import ModelDescriptor
    from millrace.table.module import ModuleEntry
    from millrace.table.plan_reference import PlanReference
    from millrace.table.process_calls import PartitionedTable
    from millrace.table.result_kind import ResultKind
    from millrace.table.schema import Schema
    from millrace.table.sql_dialect import SqlDialect
    from millrace.table.statement_set import StatementSet
    from millrace.table.stream_table_environment import StreamTableEnvironment
    from millrace.table.table import (
        AggregatedTable,
        FlatAggregateTable,
        GroupedTable,
        GroupWindowedTable,
        OverWindowedTable,
        Table,
        WindowGroupedTable,
    )
    from millrace.table.table_config import TableConfig
    from millrace.table.table_descriptor import FormatDescriptor, TableDescriptor
    from millrace.table.table_environment import TableEnvironment
    from millrace.table.table_pipeline import TablePipeline
    from millrace.table.table_result import TableResult
    from millrace.table.table_schema import TableSchema
    from millrace.table_runtime.user_defined_functions import (
        AggregateFunction,
        AsyncScalarFunction,
        ImperativeAggregateFunction,
        ProcessTableFunction,
        ScalarFunction,
        TableAggregateFunction,
        TableFunction,
    )


__all__ = [
    "AggregateFunction",
    "AggregatedTable",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FlatAggregateTable",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ImperativeAggregateFunction",
    "ListView",
    "MapView",
    "Model",
    "ModelDescriptor",
    "ModuleEntry",
    "OverWindowedTable",
    "PartitionedTable",
    "PlanReference",
    "ProcessTableFunction",
    "ResolvedSchema",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "TemporalTableFunction",
    "WindowGroupedTable",
]

# workers import this package for the base classes of functions: they need nothing else of it
if not TYPE_CHECKING:  # a type checker knows the names by their imports, and no others
    __getattr__ = late_names(__name__)
    __dir__ = late_directory(__name__)
explain_missing_names(__name__)
