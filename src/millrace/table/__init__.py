"""SQL and the Table API: tables, catalogs, and queries over streams and bounded data.

Names and module paths are PyFlink's: ``from pyflink.table import ...`` becomes
``from millrace.table import ...``.
"""

from __future__ import annotations

from millrace.table.data_types import DataTypes
from millrace.table.environment_settings import EnvironmentSettings
from millrace.table.explain_detail import ExplainDetail
from millrace.table.result_kind import ResultKind
from millrace.table.schema import Schema
from millrace.table.statement_set import StatementSet
from millrace.table.stream_table_environment import StreamTableEnvironment
from millrace.table.table import Table
from millrace.table.table_config import TableConfig
from millrace.table.table_descriptor import FormatDescriptor, TableDescriptor
from millrace.table.table_environment import TableEnvironment
from millrace.table.table_result import TableResult
from millrace.table.udf import FunctionContext, ScalarFunction

__all__ = [
    "DataTypes",
    "EnvironmentSettings",
    "ExplainDetail",
    "FormatDescriptor",
    "FunctionContext",
    "ResultKind",
    "ScalarFunction",
    "Schema",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableResult",
]
