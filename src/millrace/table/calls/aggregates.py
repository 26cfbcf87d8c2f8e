"""Aggregate functions, and their windows with OVER."""

from __future__ import annotations

from typing import Any, Self

from millrace.common.errors import JobDefinitionError
from millrace.sql.dialect import nodes
from millrace.table.calls.call_builder import CallBuilder, node_of
from millrace.table.syntax import identifier

__all__ = ["AggregateFunctions"]


class AggregateFunctions(CallBuilder):
    """Functions over the rows of a group or a window."""

    __slots__ = ()

    def _with(self, **parts: Any) -> Self:
        call = self.node
        if not isinstance(call, nodes.FunctionCall):
            raise JobDefinitionError(f"{self} is not a call of an aggregate function")
        return self._made(nodes.FunctionCall(**{**call.args, **parts}))

    @property
    def distinct(self) -> Self:
        """The aggregate of distinct values: ``col("a").sum.distinct``."""
        return self._with(distinct=True)

    def over(self, alias: Any) -> Self:
        """The aggregate over a window that `Table.over_window` has defined.

        Args:
            alias: the window: an expression ``col("w")``, or its name.
        """
        name = alias if isinstance(alias, str) else node_of(alias).name
        return self._with(over=identifier(name))

    @property
    def sum(self) -> Self:
        """Sum of the values; NULL if there are none."""
        return self._call("SUM")

    @property
    def sum0(self) -> Self:
        """Sum of the values; 0 if there are none."""
        return self._call("SUM0")

    @property
    def min(self) -> Self:
        """Least value."""
        return self._call("MIN")

    @property
    def max(self) -> Self:
        """Greatest value."""
        return self._call("MAX")

    @property
    def count(self) -> Self:
        """Number of values that are not NULL."""
        return self._call("COUNT")

    @property
    def avg(self) -> Self:
        """Mean of the values."""
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
        """Texts joined by a separator, by default a comma."""
        return self._call_with("LISTAGG", separator)

    @property
    def stddev_pop(self) -> Self:
        """Population standard deviation."""
        return self._call("STDDEV_POP")

    @property
    def stddev_samp(self) -> Self:
        """Sample standard deviation."""
        return self._call("STDDEV_SAMP")

    @property
    def var_pop(self) -> Self:
        """Population variance."""
        return self._call("VAR_POP")

    @property
    def var_samp(self) -> Self:
        """Sample variance."""
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
        """Percentile of the values, for a percentage from 0 to 1."""
        return self._call_with("PERCENTILE", percentage, frequency)
