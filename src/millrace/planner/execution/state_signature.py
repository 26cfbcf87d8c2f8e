"""`StateSignature`: the meaning of an operator's state, which decides its uid; `Provenance`: the
meaning of an input's rows and columns.

Every operator with state has a function ``state_signature``. The signature contains
everything that changes the meaning of its state or of the rows it has emitted. It leaves out names
of columns, computations on its rows further on, times to live, and the number of subtasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from millrace.expressions.call_options import signed_options
from millrace.expressions.resolved import AggregateCall, ResolvedExpression, SortKey
from millrace.expressions.session_settings import SessionSettings
from millrace.planner.execution.state_digest import digest, expression_digest, function_identity
from millrace.table_runtime.window_time import WindowTime

__all__ = ["Provenance", "StateSignature", "clock_identity"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Meaning of an input's rows: digests of their origin, and of each column.

    Attributes:
        rows: digest of the sources, the operators with state, and the operators that multiply rows.
        columns: digest of each column, made from columns of the sources and from functions.
        session: settings that decide values of expressions.
        filters: digests of conditions on rows that are only inserted. They are not part of
            ``rows``, since the conditions may change; they only tell apart operators of a job that
            are equal otherwise.
    """

    rows: str
    columns: tuple[str, ...]
    session: SessionSettings
    filters: tuple[str, ...] = ()

    def at(self, positions: Iterable[int]) -> tuple[str, ...]:
        """Digests of the columns at some positions."""
        return tuple(self.columns[index] for index in positions)

    def column(self, expression: ResolvedExpression) -> str:
        """Digest of an expression over the rows, which identifies the values of a column."""
        return expression_digest(expression, self.columns, self.session)

    def expression(self, expression: ResolvedExpression | None) -> str | None:
        """Digest of an expression over the rows; None if there is no expression."""
        return None if expression is None else self.column(expression)

    def calls(self, calls: Iterable[AggregateCall]) -> tuple[object, ...]:
        """Identity of aggregate calls over the rows."""
        return tuple(map(self._call, calls))

    def _call(self, call: AggregateCall) -> object:
        return (
            function_identity(call.function),
            call.distinct,
            self.at(call.arguments),
            None if call.filter is None else self.columns[call.filter],
            signed_options(call.options),
            call.type,
        )

    def order(self, keys: Iterable[SortKey]) -> tuple[object, ...]:
        """Identity of a sort order of the rows."""
        return tuple((self.columns[key.index], key.ascending, key.nulls_first) for key in keys)

    def with_columns(self, columns: Sequence[str], *rows: object) -> Provenance:
        """Provenance of the rows with other columns.

        Args:
            rows: parts of the query that change the set of rows; empty if the rows stay the same.
        """
        origin = digest(self.rows, *rows) if rows else self.rows
        return replace(self, rows=origin, columns=tuple(columns))

    def filtered(self, condition: ResolvedExpression) -> Provenance:
        """Provenance of the rows for which a condition is TRUE; all rows must be inserts."""
        return replace(self, filters=(*self.filters, self.column(condition)))

    def beside(self, right: Provenance) -> Provenance:
        """Provenance of joined rows. A column's digest includes its side, since both sides may be
        the same table.
        """
        sides = (("left", self), ("right", right))
        columns = [digest(name, column) for name, side in sides for column in side.columns]
        filters = tuple(
            digest(name, filter_digest) for name, side in sides for filter_digest in side.filters
        )
        return Provenance(digest(self.rows, right.rows), tuple(columns), self.session, filters)


@dataclass(frozen=True, slots=True)
class StateSignature:
    """The parts of a query that decide the meaning of an operator's state.

    Attributes:
        inputs: meaning of the operator's inputs.
        parts: named parts of the operator's work, such as keys and calls.
    """

    inputs: tuple[Provenance, ...]
    parts: tuple[tuple[str, object], ...]

    @staticmethod
    def of(*inputs: Provenance, **parts: object) -> StateSignature:
        """The signature of an operator with the given inputs and parts."""
        return StateSignature(inputs, tuple(sorted(parts.items())))

    @property
    def digest(self) -> str:
        """Digest of the signature."""
        return digest([provenance.rows for provenance in self.inputs], self.parts)

    @property
    def filters(self) -> str:
        """Digest of those filters of the inputs that may change. It distinguishes operators with
        otherwise equal signatures.
        """
        return digest([provenance.filters for provenance in self.inputs])


def clock_identity(clock: WindowTime) -> object:
    """Identity of a window clock: its time zone, and whether it is processing time."""
    return (clock.zone, clock.processing)
