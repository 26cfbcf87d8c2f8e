"""Names that programs import from a module that only uses them, or that had them in an earlier
version.

A module of PyFlink has the names of its own imports, too, and programs import them from there. Most
such modules here import these names. Those that cannot, because what they would import
builds on them, find them when they are asked for. So do packages that workers import for a few of
their names: with all of them, each worker would load the parser and the planner.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["LATE_NAMES", "late_directory", "late_names"]

LATE_NAMES: Mapping[str, Mapping[str, str]] = {
    "millrace.connectors": {"StateChangesSource": "millrace.state_processor"},
    "millrace.connectors.state_changes": {"StateChangesSource": "millrace.state_processor"},
    "millrace.table": {
        "AggregateFunction": "millrace.table_runtime.user_defined_functions",
        "AggregatedTable": "millrace.table.table",
        "AsyncScalarFunction": "millrace.table_runtime.user_defined_functions",
        "ChangelogMode": "millrace.common.types.changelog_mode",
        "CompiledPlan": "millrace.table.compiled_plan",
        "DataTypes": "millrace.table.data_types",
        "DataView": "millrace.table.data_view",
        "EnvironmentSettings": "millrace.table.environment_settings",
        "ExplainDetail": "millrace.table.explain_detail",
        "Expression": "millrace.table.expression",
        "FlatAggregateTable": "millrace.table.table",
        "FormatDescriptor": "millrace.table.table_descriptor",
        "FunctionContext": "millrace.expressions.function_context",
        "GroupWindowedTable": "millrace.table.table",
        "GroupedTable": "millrace.table.table",
        "ImperativeAggregateFunction": "millrace.table_runtime.user_defined_functions",
        "ListView": "millrace.table.data_view",
        "MapView": "millrace.table.data_view",
        "Model": "millrace.table.model",
        "ModelDescriptor": "millrace.table.model_descriptor",
        "ModuleEntry": "millrace.table.module",
        "OverWindowedTable": "millrace.table.table",
        "PartitionedTable": "millrace.table.process_calls",
        "PlanReference": "millrace.table.plan_reference",
        "ProcessTableFunction": "millrace.table_runtime.user_defined_functions",
        "ResolvedSchema": "millrace.table.catalog.resolved_schema",
        "ResultKind": "millrace.table.result_kind",
        "Row": "millrace.common.types.row",
        "RowKind": "millrace.common.types.row",
        "ScalarFunction": "millrace.table_runtime.user_defined_functions",
        "Schema": "millrace.table.schema",
        "SqlDialect": "millrace.table.sql_dialect",
        "StatementSet": "millrace.table.statement_set",
        "StreamTableEnvironment": "millrace.table.stream_table_environment",
        "Table": "millrace.table.table",
        "TableAggregateFunction": "millrace.table_runtime.user_defined_functions",
        "TableConfig": "millrace.table.table_config",
        "TableDescriptor": "millrace.table.table_descriptor",
        "TableEnvironment": "millrace.table.table_environment",
        "TableFunction": "millrace.table_runtime.user_defined_functions",
        "TablePipeline": "millrace.table.table_pipeline",
        "TableResult": "millrace.table.table_result",
        "TableSchema": "millrace.table.table_schema",
        "TemporalTableFunction": "millrace.table.functions.temporal_table_function",
        "WindowGroupedTable": "millrace.table.table",
    },
    "millrace.table.catalog": {
        "Catalog": "millrace.table.catalog.catalog",
        "CatalogBaseTable": "millrace.table.catalog.catalog_objects",
        "CatalogColumnStatistics": "millrace.table.catalog.catalog_objects",
        "CatalogColumnStatisticsData": "millrace.table.catalog.catalog_objects",
        "CatalogDatabase": "millrace.table.catalog.catalog_objects",
        "CatalogDescriptor": "millrace.table.catalog.catalog_objects",
        "CatalogError": "millrace.table.catalog.errors",
        "CatalogFunction": "millrace.table.catalog.catalog_objects",
        "CatalogModel": "millrace.table.catalog.catalog_models",
        "CatalogPartition": "millrace.table.catalog.catalog_objects",
        "CatalogPartitionSpec": "millrace.table.catalog.catalog_objects",
        "CatalogTable": "millrace.table.catalog.catalog_objects",
        "CatalogTableStatistics": "millrace.table.catalog.catalog_objects",
        "CatalogView": "millrace.table.catalog.catalog_objects",
        "Column": "millrace.table.catalog.resolved_schema",
        "ComputedColumn": "millrace.table.catalog.resolved_schema",
        "Configuration": "millrace.common.config.configuration",
        "Constraint": "millrace.table.catalog.resolved_schema",
        "DataType": "millrace.table.types",
        "FileCatalog": "millrace.table.catalog.file_catalog",
        "GenericInMemoryCatalog": "millrace.table.catalog.generic_in_memory_catalog",
        "JdbcCatalog": "millrace.table.catalog.jdbc_catalog",
        "MetadataColumn": "millrace.table.catalog.resolved_schema",
        "ObjectIdentifier": "millrace.table.catalog.object_path",
        "ObjectPath": "millrace.table.catalog.object_path",
        "PhysicalColumn": "millrace.table.catalog.resolved_schema",
        "ResolvedExpression": "millrace.expressions.resolved",
        "ResolvedSchema": "millrace.table.catalog.resolved_schema",
        "Schema": "millrace.table.schema",
        "SparkCatalog": "millrace.table.catalog.spark_catalog",
        "TableSchema": "millrace.table.table_schema",
        "UniqueConstraint": "millrace.table.catalog.resolved_schema",
        "WatermarkSpec": "millrace.table.catalog.resolved_schema",
    },
    "millrace.table.functions": {
        "AggregateFunction": "millrace.table_runtime.user_defined_functions",
        "AvgAggFunction": "millrace.table.functions.built_in_aggregates",
        "Count1AggFunction": "millrace.table.functions.built_in_aggregates",
        "CountAggFunction": "millrace.table.functions.built_in_aggregates",
        "DecimalSum0AggFunction": "millrace.table.functions.built_in_aggregates",
        "FirstValueAggFunction": "millrace.table.functions.built_in_aggregates",
        "FirstValueWithRetractAggFunction": "millrace.table.functions.built_in_aggregates",
        "FloatSum0AggFunction": "millrace.table.functions.built_in_aggregates",
        "IntSum0AggFunction": "millrace.table.functions.built_in_aggregates",
        "LastValueAggFunction": "millrace.table.functions.built_in_aggregates",
        "LastValueWithRetractAggFunction": "millrace.table.functions.built_in_aggregates",
        "ListAggFunction": "millrace.table.functions.built_in_aggregates",
        "ListAggWithRetractAggFunction": "millrace.table.functions.built_in_aggregates",
        "ListAggWsWithRetractAggFunction": "millrace.table.functions.built_in_aggregates",
        "ListView": "millrace.table.data_view",
        "MapView": "millrace.table.data_view",
        "MaxAggFunction": "millrace.table.functions.built_in_aggregates",
        "MaxWithRetractAggFunction": "millrace.table.functions.built_in_aggregates",
        "MinAggFunction": "millrace.table.functions.built_in_aggregates",
        "MinWithRetractAggFunction": "millrace.table.functions.built_in_aggregates",
        "Sum0AggFunction": "millrace.table.functions.built_in_aggregates",
        "SumAggFunction": "millrace.table.functions.built_in_aggregates",
        "SumWithRetractAggFunction": "millrace.table.functions.built_in_aggregates",
        "WelfordM2AggFunction": "millrace.table.functions.built_in_aggregates",
    },
    "millrace.table.table": {
        "UserDefinedAggregateFunctionWrapper": "millrace.table.udf",
        "UserDefinedScalarFunctionWrapper": "millrace.table.udf",
        "UserDefinedTableFunctionWrapper": "millrace.table.udf",
        "create_arrow_schema": "millrace.table.types",
        "with_columns": "millrace.table.expressions",
        "without_columns": "millrace.table.expressions",
    },
    "millrace.table.table_environment": {
        "AggregateFunction": "millrace.table.udf",
        "ChangelogMode": "millrace.table.changelog_mode",
        "Configuration": "millrace.common.configuration",
        "DataStream": "millrace.datastream.data_stream",
        "DataType": "millrace.table.types",
        "Expression": "millrace.table.expression",
        "ModelDescriptor": "millrace.table.model_descriptor",
        "RowField": "millrace.table.types",
        "RowType": "millrace.table.types",
        "Schema": "millrace.table.schema",
        "StreamExecutionEnvironment": "millrace.datastream.stream_execution_environment",
        "StreamTableEnvironment": "millrace.table.stream_table_environment",
        "TableAggregateFunction": "millrace.table.udf",
        "TypeInformation": "millrace.common.typeinfo",
        "create_arrow_schema": "millrace.table.types",
        "from_arrow_type": "millrace.table.types",
        "udaf": "millrace.table.udf",
        "udtaf": "millrace.table.udf",
    },
}
"""Where a module finds the names that it does not import."""


def late_names(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has names in `LATE_NAMES`.

    A package has its modules as attributes, too, whether or not they have been imported.
    """
    names = LATE_NAMES[module]

    def find(name: str) -> Any:
        place = vars(sys.modules[module])
        if name in names:
            place[name] = value = getattr(import_module(names[name]), name)
            return value
        is_module = name.isidentifier() and not name.startswith("_")
        if is_module and "__path__" in place and find_spec(f"{module}.{name}"):
            return import_module(f"{module}.{name}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    return find


def late_directory(module: str) -> Callable[[], list[str]]:
    """The ``__dir__`` of such a module: notebooks complete the names that are not imported yet."""
    return lambda: sorted({*vars(sys.modules[module]), *LATE_NAMES[module]})
