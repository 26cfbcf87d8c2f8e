"""What decides the state of operators: every option of an operator is in its signature, or is known
to change nothing."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from millrace.expressions.resolved import AggregateCall, SortKey
from millrace.planner.relational.rel_node import Aggregate, Join, Sort
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    CountWindowAggregate,
    Match,
    OverGroup,
    WindowAggregate,
    WindowingStrategy,
    WindowTableFunction,
)
from millrace.table_runtime.changelog_normalize import ChangelogNormalizeSpec
from millrace.table_runtime.correlate import CorrelateSpec
from millrace.table_runtime.count_window_aggregate import CountWindowAggregateSpec
from millrace.table_runtime.group_aggregate import GroupAggregateSpec
from millrace.table_runtime.join_pairs import JoinSpec
from millrace.table_runtime.lookup_join import LookupJoinSpec
from millrace.table_runtime.match import MatchSpec
from millrace.table_runtime.over_aggregate import OverAggregateSpec
from millrace.table_runtime.over_frames import FrameBounds
from millrace.table_runtime.over_values import OverSpec
from millrace.table_runtime.rank import RankSpec
from millrace.table_runtime.session_aggregate import SessionAggregateSpec
from millrace.table_runtime.session_window_table_function import SessionWindowSpec
from millrace.table_runtime.streaming_join import StreamingJoinSpec
from millrace.table_runtime.temporal_join import TemporalJoinSpec
from millrace.table_runtime.time_interval_join import TimeIntervalJoinSpec
from millrace.table_runtime.window_aggregate import WindowAggregateSpec
from millrace.table_runtime.window_join import WindowJoinSpec
from millrace.table_runtime.window_time import WindowTime

SIGNED: list[tuple[type[Any], str, str]] = [
    # class, fields in the signature, and fields that decide nothing or follow from others
    (Aggregate, "input groups calls grouping_sets", "place state_ttl"),
    (AggregateCall, "function arguments type distinct filter options", "name place"),
    (SortKey, "index ascending nulls_first", "place"),
    (CountWindowAggregate, "input groups calls size slide", "place"),
    (WindowAggregate, "input groups calls window time attached", "place properties property_kinds"),
    (WindowTableFunction, "input time window", "place window_type"),
    # local: what the clock follows, which is signed
    (WindowingStrategy, "kind size slide offset partition processing", "local"),
    (WindowTime, "zone processing", ""),
    (ChangelogNormalize, "input keys", "place"),
    (ChangelogNormalizeSpec, "row_type keys", "emits_update_before state_ttl repeatable"),
    (
        GroupAggregateSpec,
        "input_type groups calls retracts",
        "output_type emits_update_before state_ttl batch hidden repeatable",
    ),
    (CountWindowAggregateSpec, "input_type groups calls size slide", "output_type"),
    # order: its column is a time of events or of processing
    (
        MatchSpec,
        "input_type partition order variables measures skip within session",
        "rowtime output_type",
    ),
    (
        OverAggregateSpec,
        "input_type partition order rows preceding calls rowtime lags first_of_peers",
        "output_type state_ttl",
    ),
    (OverSpec, "input_type partition order bounds calls", "output_type"),
    (FrameBounds, "rows preceding following", ""),
    (SessionWindowSpec, "input_type partition gap time clock", "output_type"),
    (
        StreamingJoinSpec,
        "types keys condition",
        "padded pairs matched output_type batch state_ttl",
    ),
    (TimeIntervalJoinSpec, "join times lower upper rowtime", ""),
    # the ends are among the keys
    (WindowJoinSpec, "join clock", "ends"),
    (
        Match,
        "input partition order pattern definitions measures after_match skip_to within",
        "place",
    ),
    (OverGroup, "partition order rows preceding following calls", ""),
    (Join, "left right kind condition", "place names lateral hints state_ttl"),
    (JoinSpec, "types keys condition", "padded pairs matched output_type"),
    (Sort, "input keys offset fetch", "place"),
    (
        RankSpec,
        "input_type partition order start end kind latest_first retracts window_end clock",
        "output_type updates emits_update_before state_ttl batch repeatable",
    ),
    (
        SessionAggregateSpec,
        "input_type groups calls gap time clock",
        "properties output_type",
    ),
    (
        WindowAggregateSpec,
        "input_type groups calls window time attached retracts clock",
        "properties output_type",
    ),
    (TemporalJoinSpec, "types keys times shown condition padded", "output_type state_ttl"),
    (LookupJoinSpec, "types keys shown columns there condition", "padded output_type"),
    (CorrelateSpec, "function arguments ordinality pads input_type made", "output_type"),
]


@pytest.mark.parametrize(("kind", "signed", "free"), SIGNED, ids=lambda each: str(each)[:60])
def test_every_option_is_signed_or_decides_nothing(kind: type, signed: str, free: str) -> None:
    """A new field is to be put into ``state_signature`` of the operator, and here."""
    fields = {each.name for each in dataclasses.fields(kind)}
    assert fields == {*signed.split(), *free.split()}
