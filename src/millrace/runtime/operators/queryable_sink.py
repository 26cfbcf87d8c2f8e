"""Queryable state sink: keeps a stream as queryable state, without a user function.

Semantics: Flink docs, "Queryable State", Queryable State Stream.
"""

from __future__ import annotations

from typing import Any

from millrace.common.functions.base import KeyedProcessFunction
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.common.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor

__all__ = ["QueryableSink"]


class QueryableSink(KeyedProcessFunction[Any, Any, Any]):
    """Keeps the last record of each key, or all records of the key reduced to one."""

    def __init__(
        self, descriptor: ValueStateDescriptor[Any] | ReducingStateDescriptor[Any]
    ) -> None:
        self._descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = self._descriptor
        if isinstance(descriptor, ReducingStateDescriptor):
            self._keep = runtime_context.get_reducing_state(descriptor).add
        else:
            self._keep = runtime_context.get_state(descriptor).update

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self._keep(value)
