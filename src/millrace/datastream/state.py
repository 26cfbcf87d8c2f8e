"""Keyed state and its descriptors."""

from __future__ import annotations

from millrace.common.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from millrace.common.state.column_descriptors import (
    AggregatePart,
    AggregatingColumnDescriptor,
    ColumnAggregate,
    ColumnDescriptor,
    Mean,
    ReducingColumnDescriptor,
    ValueColumnDescriptor,
)
from millrace.common.state.descriptors import (
    AggregatingState,
    AggregatingStateDescriptor,
    AppendingState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.common.state.operator_state import OperatorStateStore
from millrace.common.state.state_ttl import StateTtlConfig

__all__ = [
    "AggregatePart",
    "AggregatingColumnDescriptor",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ColumnAggregate",
    "ColumnDescriptor",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "Mean",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingColumnDescriptor",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueColumnDescriptor",
    "ValueState",
    "ValueStateDescriptor",
]
