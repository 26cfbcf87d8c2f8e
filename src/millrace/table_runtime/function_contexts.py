"""`function_context`: what an operator tells the user's functions that it opens."""

from __future__ import annotations

from millrace.expressions.function_context import FunctionContext
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import OperatorContext

__all__ = ["function_context"]


def function_context(context: OperatorContext) -> FunctionContext:
    """With the job's parameters and the operator's metrics."""
    return FunctionContext(context.job_parameters, RegisteredGroup(context.metrics))
