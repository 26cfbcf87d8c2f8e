"""`ResolvedExpression`: base of the nodes of `millrace.expressions.resolved`."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["ResolvedExpression"]


@dataclass(frozen=True, slots=True)
class ResolvedExpression:
    """Base of resolved expressions; each has a ``type``."""

    def children(self) -> tuple[ResolvedExpression, ...]:
        """The expressions it is made of."""
        return ()

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> ResolvedExpression:
        """The same expression of others."""
        return self

    @property
    def output_type(self) -> LogicalType:
        """What its values are."""
        kind: LogicalType = self.type  # type: ignore[attr-defined]
        return kind

    def get_output_data_type(self) -> LogicalType:
        """What its values are."""
        return self.output_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """The expressions it is made of."""
        return list(self.children())

    def as_summary_string(self) -> str:
        """The expression as plans show it: names of functions before their arguments."""
        return str(self)
