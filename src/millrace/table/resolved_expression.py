"""Expressions with resolved names and types, as in a `ResolvedSchema`. PyFlink:
``pyflink.table.resolved_expression``."""

from __future__ import annotations

from millrace.expressions.resolved import ResolvedExpression
from millrace.table.expression import Expression
from millrace.table.types import DataType

__all__ = [
    "DataType",
    "Expression",
    "ResolvedExpression",
]
