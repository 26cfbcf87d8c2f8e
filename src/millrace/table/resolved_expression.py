"""Expressions whose names are found and types known, as a `ResolvedSchema` has them. PyFlink:
``pyflink.table.resolved_expression``."""

from __future__ import annotations

from millrace.expressions.resolved import ResolvedExpression

__all__ = ["ResolvedExpression"]
