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
from millrace.table_runtime.correlate import CorrelateSpec
from millrace.table_runtime.join_pairs import JoinSpec
from millrace.table_runtime.lookup_join import LookupJoinSpec
from millrace.table_runtime.rank import RankSpec
from millrace.table_runtime.session_aggregate import SessionAggregateSpec
from millrace.table_runtime.temporal_join import TemporalJoinSpec
from millrace.table_runtime.window_aggregate import WindowAggregateSpec
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
        "output_type updates emits_update_before state_ttl batch",
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
