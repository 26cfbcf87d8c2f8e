"""`function_context`: the context with which an operator opens the user's functions."""

from __future__ import annotations

from millrace.expressions.function_context import FunctionContext
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import OperatorContext

__all__ = ["function_context"]


def function_context(context: OperatorContext) -> FunctionContext:
    """Context of a function, with the job's parameters and the operator's metrics."""
    return FunctionContext(context.job_parameters, RegisteredGroup(context.metrics))
