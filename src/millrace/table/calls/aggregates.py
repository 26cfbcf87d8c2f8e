"""Aggregate functions, and how they are windowed by OVER."""

from __future__ import annotations

from typing import Any, Self

from millrace.common.errors import JobDefinitionError
from millrace.sql.dialect import nodes
from millrace.table.calls.call_builder import CallBuilder, node_of
from millrace.table.syntax import identifier

__all__ = ["AggregateFunctions"]


class AggregateFunctions(CallBuilder):
    """Functions of a group's or a window's rows."""

    __slots__ = ()

    def _with(self, **parts: Any) -> Self:
        call = self.node
        if not isinstance(call, nodes.FunctionCall):
            raise JobDefinitionError(f"{self} is no call of an aggregate function")
        return self._made(nodes.FunctionCall(**{**call.args, **parts}))

    @property
    def distinct(self) -> Self:
        """The aggregate of distinct values: ``col("a").sum.distinct``."""
        return self._with(distinct=True)

    def over(self, alias: Any) -> Self:
        """The aggregate over a window of `Table.over_window`.

        Args:
            alias: of the window, as an expression ``col("w")`` or its name.
        """
        name = alias if isinstance(alias, str) else node_of(alias).name
        return self._with(over=identifier(name))

    @property
    def sum(self) -> Self:
        """Sum; NULL of no values."""
        return self._call("SUM")

    @property
    def sum0(self) -> Self:
        """Sum; 0 of no values."""
        return self._call("SUM0")

    @property
    def min(self) -> Self:
        """The least value."""
        return self._call("MIN")

    @property
    def max(self) -> Self:
        """The greatest value."""
        return self._call("MAX")

    @property
    def count(self) -> Self:
        """How many values are not NULL."""
        return self._call("COUNT")

    @property
    def avg(self) -> Self:
        """Mean."""
        return self._call("AVG")

    @property
    def first_value(self) -> Self:
        """The first value that is not NULL."""
        return self._call("FIRST_VALUE")

    @property
    def last_value(self) -> Self:
        """The last value that is not NULL."""
        return self._call("LAST_VALUE")

    def list_agg(self, separator: Any = None) -> Self:
        """Texts, joined by a separator, a comma if none is given."""
        return self._call_with("LISTAGG", separator)

    @property
    def stddev_pop(self) -> Self:
        """Standard deviation of the values."""
        return self._call("STDDEV_POP")

    @property
    def stddev_samp(self) -> Self:
        """Standard deviation that the values, a sample, tell of."""
        return self._call("STDDEV_SAMP")

    @property
    def var_pop(self) -> Self:
        """Variance of the values."""
        return self._call("VAR_POP")

    @property
    def var_samp(self) -> Self:
        """Variance that the values, a sample, tell of."""
        return self._call("VAR_SAMP")

    @property
    def collect(self) -> Self:
        """All values, as a MULTISET."""
        return self._call("COLLECT")

    @property
    def array_agg(self) -> Self:
        """All values, as an ARRAY."""
        return self._call("ARRAY_AGG")

    def percentile(self, percentage: Any, frequency: Any = None) -> Self:
        """The value that a share of the others, from 0 to 1, is below."""
        return self._call_with("PERCENTILE", percentage, frequency)
