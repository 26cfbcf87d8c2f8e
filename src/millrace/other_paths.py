"""Names that programs import from a module that only uses them, or that had them in an earlier
version.

A module of PyFlink has the names of its own imports, too, and programs import them from there. Most
such modules here import these names. Those that cannot, because what they would import
builds on them, find them when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["LATE_NAMES", "late_names"]

LATE_NAMES: Mapping[str, Mapping[str, str]] = {
    "millrace.connectors": {"StateChangesSource": "millrace.state_processor"},
    "millrace.connectors.state_changes": {"StateChangesSource": "millrace.state_processor"},
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
    """The ``__getattr__`` of a module that has names in `LATE_NAMES`."""
    names = LATE_NAMES[module]

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return getattr(import_module(names[name]), name)

    return find
