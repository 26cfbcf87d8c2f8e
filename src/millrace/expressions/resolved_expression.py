"""`ResolvedExpression`: base of the nodes of `millrace.expressions.resolved`."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["ResolvedExpression"]


@dataclass(frozen=True, slots=True)
class ResolvedExpression:
    """Base of resolved expressions; each has a ``type``."""

    def children(self) -> tuple[ResolvedExpression, ...]:
        """Direct subexpressions."""
        return ()

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> ResolvedExpression:
        """The same expression with other subexpressions."""
        return self

    @property
    def output_type(self) -> LogicalType:
        """Type of the expression's values."""
        kind: LogicalType = self.type  # type: ignore[attr-defined]
        return kind

    def get_output_data_type(self) -> LogicalType:
        """Type of the expression's values."""
        return self.output_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """Direct subexpressions."""
        return list(self.children())

    def as_summary_string(self) -> str:
        """Text of the expression in plans, with names of functions before their arguments."""
        return str(self)
