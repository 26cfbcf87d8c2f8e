"""Windows of the Table API: `Tumble`, `Slide`, `Session` for groups, `Over` for rows.

Flink docs: "Table API", "Group Windows" and "Over Windows".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.sql.dialect import nodes
from millrace.table.calls.call_builder import node_of
from millrace.table.expression import Expression
from millrace.table.syntax import call_node, identifier

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
    "group_window",
    "over_window",
]


@dataclass(frozen=True)
class GroupWindow:
    """A window with a name, for `Table.window`.

    Attributes:
        name: name of the window in `GroupWindowedTable.group_by` and ``col("w").start``.
        call: TUMBLE, HOP or SESSION of a time attribute and spans of time.
        rows: for windows of a number of rows: this number, and the number of rows from the start of
            one window to the start of the next; None for windows of time.
    """

    name: str
    call: nodes.FunctionCall
    rows: tuple[int, int] | None = None


def _named(name: str, function: str, time: Expression, *spans: Expression) -> GroupWindow:
    lengths = [node_of(span) for span in spans]
    counts = [_row_count(length) for length in lengths]
    if any(count is not None for count in counts):
        slide, size = counts[0], counts[-1]
        if slide is None or size is None or function == "SESSION":
            raise JobDefinitionError(
                "the size of a window is a number of rows or a time: either both its size "
                "and its slide are row_interval(), or neither is; the gap of a session is a "
                "time"
            )
        return GroupWindow(name, call_node(function, [node_of(time)]), (size, slide))
    return GroupWindow(name, call_node(function, [node_of(time), *lengths]))


def _row_count(span: exp.Expr) -> int | None:
    """Number of rows in ``row_interval()``."""
    if not isinstance(span, nodes.WindowFrame):
        return None
    count = int(span.args["start"].this.name)
    if count < 1:
        raise JobDefinitionError(f"a window must have at least one row, not {count}")
    return count


class Tumble:
    """Consecutive windows of one length.

    Example:
        >>> from millrace.table.expressions import col, lit
        >>> Tumble.over(lit(10).minutes).on(col("ts")).alias("w").name
        'w'
    """

    @classmethod
    def over(cls, size: Expression) -> TumbleWithSize:
        """Set the length, ``lit(10).minutes``, or a number of rows, ``row_interval(10)``.
        Windows of rows follow processing time: a window is emitted when its last row has
        arrived."""
        return TumbleWithSize(size)


@dataclass(frozen=True)
class TumbleWithSize:
    """Tumbling windows with a length."""

    size: Expression

    def on(self, time_field: Expression) -> TumbleWithSizeOnTime:
        """Set the time attribute that determines the window of a row."""
        return TumbleWithSizeOnTime(self.size, time_field)


@dataclass(frozen=True)
class TumbleWithSizeOnTime:
    """Tumbling windows with length and time."""

    size: Expression
    time: Expression

    def alias(self, alias: str) -> GroupWindow:
        """Set the window's name."""
        return _named(alias, "TUMBLE", self.time, self.size)


class Slide:
    """Windows of one length that overlap; a new window starts after each slide."""

    @classmethod
    def over(cls, size: Expression) -> SlideWithSize:
        """Set the length."""
        return SlideWithSize(size)


@dataclass(frozen=True)
class SlideWithSize:
    """Sliding windows with a length."""

    size: Expression

    def every(self, slide: Expression) -> SlideWithSizeAndSlide:
        """Set the slide: the time from the start of one window to the start of the next."""
        return SlideWithSizeAndSlide(self.size, slide)


@dataclass(frozen=True)
class SlideWithSizeAndSlide:
    """Sliding windows with length and slide."""

    size: Expression
    slide: Expression

    def on(self, time_field: Expression) -> SlideWithSizeAndSlideOnTime:
        """Set the time attribute that determines the windows of a row."""
        return SlideWithSizeAndSlideOnTime(self.size, self.slide, time_field)


@dataclass(frozen=True)
class SlideWithSizeAndSlideOnTime:
    """Sliding windows with length, slide and time."""

    size: Expression
    slide: Expression
    time: Expression

    def alias(self, alias: str) -> GroupWindow:
        """Set the window's name."""
        return _named(alias, "HOP", self.time, self.slide, self.size)


class Session:
    """Windows that end after a time without rows."""

    @classmethod
    def with_gap(cls, gap: Expression) -> SessionWithGap:
        """Set the time without rows that ends a window."""
        return SessionWithGap(gap)


@dataclass(frozen=True)
class SessionWithGap:
    """Session windows with a gap."""

    gap: Expression

    def on(self, time_field: Expression) -> SessionWithGapOnTime:
        """Set the time attribute of the rows."""
        return SessionWithGapOnTime(self.gap, time_field)


@dataclass(frozen=True)
class SessionWithGapOnTime:
    """Session windows with gap and time."""

    gap: Expression
    time: Expression

    def alias(self, alias: str) -> GroupWindow:
        """Set the window's name."""
        return _named(alias, "SESSION", self.time, self.gap)


@dataclass(frozen=True)
class OverWindow:
    """A named window of OVER, for `Table.over_window`."""

    name: str
    specification: nodes.WindowSpecification

    def node(self) -> nodes.NamedWindow:
        """The window in a WINDOW clause."""
        return nodes.NamedWindow(this=identifier(self.name), expression=self.specification)


class Over:
    """Windows of rows around each row, for aggregates with `Expression.over`.

    Example:
        >>> from millrace.table.expressions import UNBOUNDED_RANGE, col
        >>> window = Over.partition_by(col("k")).order_by(col("ts")).preceding(UNBOUNDED_RANGE)
        >>> window.alias("w").name
        'w'
    """

    @classmethod
    def order_by(cls, order_by: Expression) -> OverWindowPartitionedOrdered:
        """Window over all rows, sorted by an expression: in a stream, by a time attribute."""
        return OverWindowPartitionedOrdered((), order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression) -> OverWindowPartitioned:
        """Window over the rows with equal values of some columns."""
        return OverWindowPartitioned(partition_by)


@dataclass(frozen=True)
class OverWindowPartitioned:
    """A window of OVER with its partition."""

    partition: tuple[Expression, ...]

    def order_by(self, order_by: Expression) -> OverWindowPartitionedOrdered:
        """Set the order: in a stream, a time attribute."""
        return OverWindowPartitionedOrdered(self.partition, order_by)


@dataclass(frozen=True)
class OverWindowPartitionedOrdered:
    """A window of OVER with partition and order: from the partition's start to the row's time."""

    partition: tuple[Expression, ...]
    order: Expression

    def preceding(self, preceding: Expression) -> OverWindowPartitionedOrderedPreceding:
        """Set the start: a number of rows, or a time, before the row: ``row_interval(2)``,
        ``lit(1).minutes``, ``UNBOUNDED_ROW``, ``UNBOUNDED_RANGE``."""
        return OverWindowPartitionedOrderedPreceding(self.partition, self.order, preceding)

    def alias(self, alias: str) -> OverWindow:
        """Set the window's name."""
        return OverWindow(alias, _specification(self.partition, self.order, None))


@dataclass(frozen=True)
class OverWindowPartitionedOrderedPreceding:
    """A window of OVER with partition, order and bounds."""

    partition: tuple[Expression, ...]
    order: Expression
    start: Expression
    end: Expression | None = None

    def following(self, following: Expression) -> OverWindowPartitionedOrderedPreceding:
        """Set the end: a number of rows, or a time, after the row: ``CURRENT_ROW``,
        ``CURRENT_RANGE``, ..."""
        return replace(self, end=following)

    def alias(self, alias: str) -> OverWindow:
        """Set the window's name."""
        start, end = _frame(self.start), None if self.end is None else _frame(self.end)
        bounds = {"start": start.args["start"]}
        if end is not None:
            if end.args["unit"] != start.args["unit"]:
                raise JobDefinitionError(
                    "both bounds of an OVER window must be numbers of rows, or both must be times"
                )
            bounds["end"] = _following(end.args["start"])
        frame = nodes.WindowFrame(unit=start.args["unit"], **bounds)
        return OverWindow(alias, _specification(self.partition, self.order, frame))


def _frame(bound: Expression) -> nodes.WindowFrame:
    if isinstance(bound.node, nodes.WindowFrame):
        return bound.node
    span = nodes.FrameBound(kind="PRECEDING", this=bound.node)
    return nodes.WindowFrame(unit="RANGE", start=span)


def _following(bound: exp.Expr) -> exp.Expr:
    if bound.args["kind"] == "CURRENT ROW":
        return bound
    return nodes.FrameBound(kind="FOLLOWING", this=bound.this)


def _specification(
    partition: tuple[Expression, ...], order: Expression, frame: nodes.WindowFrame | None
) -> nodes.WindowSpecification:
    key = order.node if isinstance(order.node, exp.Ordered) else order.asc.node
    return nodes.WindowSpecification(
        partition_by=[expression.node for expression in partition], order=[key], frame=frame
    )


def group_window(window: Any) -> GroupWindow:
    """The argument of `Table.window`, after a check that it is complete.

    Raises:
        JobDefinitionError: the window has no time attribute or no name.
    """
    if not isinstance(window, GroupWindow):
        raise JobDefinitionError(
            "window() takes a window with a time and a name, such as "
            f"Tumble.over(lit(10).minutes).on(col('ts')).alias('w'), not {window}"
        )
    return window


def over_window(window: Any) -> OverWindow:
    """The argument of `Table.over_window`, after a check that it is complete.

    Raises:
        JobDefinitionError: the window has no order or no name.
    """
    if not isinstance(window, OverWindow):
        raise JobDefinitionError(
            "over_window() takes windows with an order and a name, such as "
            f"Over.order_by(col('ts')).alias('w'), not {window}"
        )
    return window
