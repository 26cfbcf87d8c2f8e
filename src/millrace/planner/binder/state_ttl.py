"""`StateTtlHint`: time to live of the state of a query's joins and aggregation.

``/*+ STATE_TTL('o' = '1d', 'c' = '12h') */`` behind SELECT names tables of FROM by their alias, or
by their name without one. Flink docs, "Hints".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millrace.common.time.amounts import Duration
from millrace.planner.binder.context import BindingContext
from millrace.planner.binder.hints import written_hints
from millrace.planner.binder.scope import Scope

__all__ = ["StateTtlHint", "state_ttl_hint"]


@dataclass(frozen=True)
class StateTtlHint:
    """Times to live of one SELECT's state, in ms by table."""

    by_table: dict[str, int] = field(default_factory=dict)

    def of(self, scope: Scope) -> int | None:
        """Time to live in ms for the only table of a scope; None if the session's setting
        applies."""
        if len(scope.tables) != 1:
            return None
        (table,) = scope.tables
        ttls = (ttl for name, ttl in self.by_table.items() if table.matches((name,)))
        return next(ttls, None)


def state_ttl_hint(context: BindingContext, select: exp.Select) -> StateTtlHint:
    """The STATE_TTL hint of a SELECT.

    Raises:
        SqlValidationError: the hint is not written in pairs, or a value is not a duration.
    """
    ttls: dict[str, int] = {}
    for hint in written_hints(select):
        if hint.name.upper() != "STATE_TTL":
            continue
        if not hint.options:
            raise context.refusal(hint, "STATE_TTL is written STATE_TTL('table' = '1 d')")
        for name, value in hint.options.items():
            try:
                ttls[name] = Duration.parse(value).to_millis()
            except ValueError as error:
                raise context.refusal(hint, f"STATE_TTL of {name!r}: {error}") from None
    return StateTtlHint(ttls)
