"""Keyed state and its descriptors."""

from __future__ import annotations

from typing import TypeVar

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
from millrace.common.time.amounts import Duration, Time
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types

__all__ = [
    "AggregatePart",
    "AggregatingColumnDescriptor",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ColumnAggregate",
    "ColumnDescriptor",
    "Duration",
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
    "Time",
    "TypeInformation",
    "Types",
    "ValueColumnDescriptor",
    "ValueState",
    "ValueStateDescriptor",
]

IN = TypeVar("IN")
K = TypeVar("K")
OUT = TypeVar("OUT")
T = TypeVar("T")
V = TypeVar("V")
