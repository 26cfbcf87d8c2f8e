"""Nodes of the relational tree that only streams have: time, windows, ranks and patterns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from millrace.common.types.logical.logical_type import BigIntType, RowField, RowType
from millrace.expressions.resolved import AggregateCall, ResolvedExpression, SortKey
from millrace.planner.relational.rel_node import SingleRel

__all__ = [
    "AfterMatchSkip",
    "ChangelogNormalize",
    "CountWindowAggregate",
    "Deduplicate",
    "Match",
    "OverAggregate",
    "OverGroup",
    "QuantifiedVariable",
    "Rank",
    "RankKind",
    "LogicalSnapshot",
    "TimeAttribute",
    "UpsertMaterialize",
    "VersionColumns",
    "WatermarkAssigner",
    "WindowAggregate",
    "WindowKind",
    "WindowingStrategy",
    "WindowTableFunction",
]


class TimeAttribute(Enum):
    """Kinds of time attributes (Flink docs, "Time Attributes");
    `millrace.planner.inference.time_attributes` derives them per node."""

    ROWTIME = "ROWTIME"
    PROCTIME = "PROCTIME"


@dataclass(frozen=True, eq=False)
class WatermarkAssigner(SingleRel):
    """Makes a column the event time; the watermark is the greatest value of an expression so
    far."""

    rowtime: int
    watermark: ResolvedExpression


@dataclass(frozen=True, eq=False)
class ChangelogNormalize(SingleRel):
    """Completes an upsert source to a full changelog with the rows before updates, by keeping the
    last row of each key.

    Attributes:
        keys: positions of the primary key.
    """

    keys: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class UpsertMaterialize(SingleRel):
    """The latest of the rows with equal keys, for a sink that keeps one row per key.

    Attributes:
        keys: positions of the sink's primary key.
    """

    keys: tuple[int, ...]


class WindowKind(Enum):
    """Window table-valued functions (Flink docs, "Windowing TVF")."""

    TUMBLE = "TUMBLE"
    HOP = "HOP"
    CUMULATE = "CUMULATE"
    SESSION = "SESSION"


@dataclass(frozen=True)
class WindowingStrategy:
    """The kind and sizes of windows; times in ms.

    Attributes:
        size: size of a window; for CUMULATE the greatest size, for SESSION the gap.
        slide: distance between the starts of HOP windows; for CUMULATE the step; else 0.
        partition: columns whose values separate sessions.
        local: whether the times are points in time (TIMESTAMP_LTZ), and windows are cut by the wall
            clock of the session's zone.
        processing: whether the time is processing time.
    """

    kind: WindowKind
    size: int
    slide: int = 0
    offset: int = 0
    partition: tuple[int, ...] = ()
    local: bool = False
    processing: bool = False


@dataclass(frozen=True, eq=False)
class WindowTableFunction(SingleRel):
    """The input's rows, once per window that they belong to, followed by window_start, window_end
    (TIMESTAMP(3) NOT NULL) and window_time.
    """

    time: int
    window: WindowingStrategy
    window_type: RowType
    """The input's columns and the three of the window."""

    @cached_property
    def row_type(self) -> RowType:
        return self.window_type


@dataclass(frozen=True, eq=False)
class WindowAggregate(SingleRel):
    """One aggregate per window and group, emitted once when the watermark passes the window's end.

    A rule makes it of an Aggregate that groups by window_start and window_end. Either ``time`` is
    the time column of its input (window table function and aggregate in one), or the input has
    windows attached already (``attached``: positions of window_start, window_end, window_time):
    a cascade.

    The columns: groups, calls, then the window properties that are asked for.
    """

    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: WindowingStrategy
    time: int | None
    attached: tuple[int, int, int] | None
    properties: tuple[RowField, ...] = ()
    """The fields of window_start, window_end and window_time that the result has."""
    property_kinds: tuple[str, ...] = ()
    """"start", "end" or "time", one per property."""

    @cached_property
    def row_type(self) -> RowType:
        columns = [self.input.row_type.fields[index] for index in self.groups]
        calls = [RowField(call.name, call.type) for call in self.calls]
        return RowType((*columns, *calls, *self.properties))


@dataclass(frozen=True, eq=False)
class CountWindowAggregate(SingleRel):
    """One aggregate per group and window of a fixed number of rows, in the order of arrival. The
    columns: groups, calls.

    Attributes:
        size: rows of a window.
        slide: rows from the first of one window to the first of the next.
    """

    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    size: int
    slide: int

    @cached_property
    def row_type(self) -> RowType:
        columns = [self.input.row_type.fields[index] for index in self.groups]
        return RowType((*columns, *(RowField(call.name, call.type) for call in self.calls)))


@dataclass(frozen=True)
class OverGroup:
    """Aggregates over the same frame of rows around each row.

    Attributes:
        rows: whether bounds count rows, else they are of the order column's values (ms for times).
        preceding: the lower bound; None if it is unbounded.
        following: the upper bound, 0: the current row.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    rows: bool
    preceding: int | None
    following: int | None
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, eq=False)
class OverAggregate(SingleRel):
    """The input's columns, followed by the calls of all groups."""

    over: tuple[OverGroup, ...]

    @cached_property
    def row_type(self) -> RowType:
        calls = [RowField(call.name, call.type) for group in self.over for call in group.calls]
        return RowType((*self.input.row_type.fields, *calls))


class RankKind(Enum):
    """Functions that number rows."""

    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"


@dataclass(frozen=True, eq=False)
class Rank(SingleRel):
    """The first rows of each partition: Top-N. A rule makes it from a filter over ROW_NUMBER.

    Attributes:
        start: first rank of the result, from 1.
        end: last rank of the result.
        rank_name: name of the rank column after the input's columns; None if the result has no rank
            column.
        window: positions of window_start and window_end if they are part of the partition. The node
            is then a window Top-N, which emits a window once, when it is complete.
    """

    rank_kind: RankKind
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    start: int
    end: int
    rank_name: str | None = None
    window: tuple[int, int] | None = None

    @cached_property
    def row_type(self) -> RowType:
        if self.rank_name is None:
            return self.input.row_type
        rank = RowField(self.rank_name, BigIntType(nullable=False))
        return RowType((*self.input.row_type.fields, rank))


@dataclass(frozen=True, eq=False)
class Deduplicate(SingleRel):
    """The first or the last row of each key by a time attribute: a Rank of one row."""

    keys: tuple[int, ...]
    time: int
    rowtime: bool
    keep_last: bool
    window: tuple[int, int] | None = None


@dataclass(frozen=True)
class VersionColumns:
    """Arguments of a temporal table function: the positions of the time attribute and of the
    key; rows with equal keys are versions of each other."""

    time: int
    key: int


@dataclass(frozen=True, eq=False)
class LogicalSnapshot(SingleRel):
    """FOR SYSTEM_TIME AS OF: the right side of a temporal or look-up join. ``period`` is an
    `OuterReference` to the left row's time attribute, or PROCTIME(); hints refer to the table by
    ``name``. ``versions`` is set for a call of a temporal table function."""

    period: ResolvedExpression
    name: str = ""
    versions: VersionColumns | None = None


@dataclass(frozen=True)
class QuantifiedVariable:
    """A variable of PATTERN, and the number of consecutive rows it matches.

    Attributes:
        most: the greatest number of rows; None if it is unbounded.
        reluctant: whether it takes as few rows as possible.
    """

    name: str
    least: int = 1
    most: int | None = 1
    reluctant: bool = False

    def __str__(self) -> str:
        bounds = (self.least, self.most)
        signs = {(1, 1): "", (0, 1): "?", (0, None): "*", (1, None): "+"}
        most = "" if self.most is None else self.most
        sign = signs.get(bounds, f"{{{self.least},{most}}}")
        return f"{self.name}{sign}{'?' if self.reluctant else ''}"


class AfterMatchSkip(Enum):
    """AFTER MATCH SKIP: the place where the search for the next match begins."""

    PAST_LAST_ROW = "PAST LAST ROW"
    TO_NEXT_ROW = "TO NEXT ROW"
    TO_FIRST = "TO FIRST"
    TO_LAST = "TO LAST"


@dataclass(frozen=True, eq=False)
class Match(SingleRel):
    """MATCH_RECOGNIZE with one row per match: the columns of the partition, then the measures.

    Semantics: SQL:2016; Flink docs, "Pattern Recognition". What measures and conditions are made
    of is in `millrace.expressions.pattern_expressions`.

    Attributes:
        partition: positions of the PARTITION BY columns.
        order: sort keys; the first is a time attribute.
        pattern: the variables in order; they match adjacent rows.
        definitions: condition of each defined variable; a variable without a condition matches any
            row.
        measures: names and expressions.
        skip_to: the variable of SKIP TO FIRST and LAST.
        within: upper limit, exclusive, of a match's duration in ms; None if there is no limit.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    pattern: tuple[QuantifiedVariable, ...]
    definitions: tuple[tuple[str, ResolvedExpression], ...]
    measures: tuple[tuple[str, ResolvedExpression], ...]
    after_match: AfterMatchSkip = AfterMatchSkip.TO_NEXT_ROW
    skip_to: str | None = None
    within: int | None = None

    @cached_property
    def row_type(self) -> RowType:
        columns = [self.input.row_type.fields[index] for index in self.partition]
        measures = (RowField(name, measure.output_type) for name, measure in self.measures)
        return RowType((*columns, *measures))
