"""User-defined functions in SQL and the Table API. PyFlink: ``pyflink.table.udf``."""

from __future__ import annotations

from typing import TypeVar

from millrace.common.functions.metrics import MetricGroup
from millrace.expressions.function_context import FunctionContext
from millrace.expressions.process_table_functions import ArgumentTrait
from millrace.table.expression import Expression
from millrace.table.functions.aggregate_functions import (
    AggregateFunction,
    ImperativeAggregateFunction,
    TableAggregateFunction,
    UserDefinedAggregateFunctionWrapper,
    udaf,
    udtaf,
)
from millrace.table.functions.process_table_functions import (
    ArgumentHint,
    ProcessTableFunction,
    StateHint,
    UserDefinedProcessTableFunctionWrapper,
    udptf,
)
from millrace.table.functions.scalar_functions import (
    AsyncScalarFunction,
    ScalarFunction,
    UserDefinedScalarFunctionWrapper,
    udf,
)
from millrace.table.functions.table_functions import (
    TableFunction,
    UserDefinedTableFunctionWrapper,
    udtf,
)
from millrace.table.functions.user_defined_function import (
    UserDefinedFunction,
    UserDefinedFunctionWrapper,
)
from millrace.table.types import DataType

__all__ = [
    "AggregateFunction",
    "ArgumentHint",
    "ArgumentTrait",
    "AsyncScalarFunction",
    "DataType",
    "Expression",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "MetricGroup",
    "ProcessTableFunction",
    "ScalarFunction",
    "StateHint",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "UserDefinedProcessTableFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
    "udaf",
    "udf",
    "udptf",
    "udtaf",
    "udtf",
]

ACC = TypeVar("ACC")
T = TypeVar("T")
