"""Functions of dates and times, time spans, and properties of windows."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from millrace.common.types.logical.logical_type import DateType, TimestampType, TimeType
from millrace.table.calls.call_builder import CallBuilder
from millrace.table.syntax import call_node, cast_node, interval_node, unit_node

__all__ = ["TemporalFunctions", "WindowProperty"]


class WindowProperty(exp.Expression, exp.Condition):
    """``col("w").start`` and the like: ``kind`` is START, END, ROWTIME or PROCTIME."""

    arg_types = {"this": True, "kind": True}  # noqa: RUF012  # as sqlglot declares it


class TemporalFunctions(CallBuilder):
    """Functions of dates, times and spans of time."""

    __slots__ = ()

    @property
    def to_date(self) -> Self:
        """The DATE of a text ``2024-01-31``."""
        return self._made(cast_node(self.node, DateType()))

    @property
    def to_time(self) -> Self:
        """The TIME of a text ``10:20:30``."""
        return self._made(cast_node(self.node, TimeType(0)))

    @property
    def to_timestamp(self) -> Self:
        """The TIMESTAMP of a text ``2024-01-31 10:20:30``."""
        return self._made(cast_node(self.node, TimestampType(3)))

    def extract(self, time_interval_unit: Any) -> Self:
        """A part of a time, such as the day for ``TimeIntervalUnit.DAY``."""
        unit = unit_node(time_interval_unit.name)
        return self._made(call_node("EXTRACT", [unit, self.node]))

    def floor(self, time_interval_unit: Any = None) -> Self:
        """The number rounded down, or the time rounded down to a unit."""
        return self._rounded("FLOOR", time_interval_unit)

    def ceil(self, time_interval_unit: Any = None) -> Self:
        """The number rounded up, or the time rounded up to a unit."""
        return self._rounded("CEIL", time_interval_unit)

    def _rounded(self, name: str, unit: Any) -> Self:
        units = [] if unit is None else [unit_node(unit.name)]
        return self._made(call_node(name, [self.node, *units]))

    def _property(self, kind: str) -> Self:
        return self._made(WindowProperty(this=self.node, kind=kind))

    @property
    def start(self) -> Self:
        """Start of a window, inclusive."""
        return self._property("START")

    @property
    def end(self) -> Self:
        """End of a window, exclusive: the end is part of the next window."""
        return self._property("END")

    @property
    def rowtime(self) -> Self:
        """Event time of a window's result: the window's last millisecond."""
        return self._property("ROWTIME")

    @property
    def proctime(self) -> Self:
        """Processing time of a window's result."""
        return self._property("PROCTIME")

    def _span(self, unit: str) -> Self:
        """A constant number of units; for a column, its value times one unit."""
        node = self.node
        negative = isinstance(node, exp.Neg)
        number = node.this if negative else node
        if isinstance(number, exp.Literal) and not number.is_string and number.this.isdigit():
            span = interval_node(*_in_units(int(number.this), unit))
            span.set("negative", negative)
            return self._made(span)
        one = interval_node(*_in_units(1, unit))
        return self._made(exp.Mul(this=one, expression=node))

    @property
    def year(self) -> Self:
        """A number of years."""
        return self._span("YEAR")

    @property
    def quarter(self) -> Self:
        """A number of quarters of a year."""
        return self._span("QUARTER")

    @property
    def month(self) -> Self:
        """A number of months."""
        return self._span("MONTH")

    @property
    def week(self) -> Self:
        """A number of weeks."""
        return self._span("WEEK")

    @property
    def day(self) -> Self:
        """A number of days."""
        return self._span("DAY")

    @property
    def hour(self) -> Self:
        """A number of hours."""
        return self._span("HOUR")

    @property
    def minute(self) -> Self:
        """A number of minutes."""
        return self._span("MINUTE")

    @property
    def second(self) -> Self:
        """A number of seconds."""
        return self._span("SECOND")

    @property
    def milli(self) -> Self:
        """A number of milliseconds."""
        return self._span("MILLISECOND")

    years, quarters, months, weeks = year, quarter, month, week
    days, hours, minutes, seconds, millis = day, hour, minute, second, milli


def _in_units(amount: int, unit: str) -> tuple[str, str]:
    if unit == "MILLISECOND":
        return f"{amount // 1000}.{amount % 1000:03d}", "SECOND"
    return str(amount), unit
