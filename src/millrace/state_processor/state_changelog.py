"""Exact changes of a state, derived from the updates of a follower."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.functions.broadcast_functions import KeyedBroadcastProcessFunction
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.common.state.descriptors import MapStateDescriptor, ValueState, ValueStateDescriptor
from millrace.common.types.row import Row, RowKind
from millrace.connectors.state_changes import CopyComplete, StateUpdate
from millrace.state.alike import alike

__all__ = ["COPIES", "StateChangelog", "key_of_update"]

COPIES: MapStateDescriptor[int, int] = MapStateDescriptor("copies")
"""Broadcast state that the pattern needs; it is always empty."""

_COPY: ValueStateDescriptor[tuple[Any, Any]] = ValueStateDescriptor("copy")
"""Per key: its value, and the checkpoint (see `_checkpoint`) in which it was last seen."""


class StateChangelog(KeyedBroadcastProcessFunction[Any, StateUpdate, CopyComplete, Row]):
    """Compares every update with a copy in keyed state. Repeated changes are suppressed and missed
    ones are added, so that changes are exactly once even if the source repeats records.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self._copy: ValueState[tuple[Any, Any]] = runtime_context.get_state(_COPY)

    def process_element(self, value: StateUpdate, ctx: Any) -> Iterable[Row]:
        known = self._copy.value()
        if value.gone:
            self._copy.clear()
            if known is not None:
                yield _change(RowKind.DELETE, value.key, known[0], value.checkpoint)
            return
        self._copy.update((value.value, _checkpoint(value)))
        if known is None:
            yield _change(RowKind.INSERT, value.key, value.value, value.checkpoint)
        elif not alike(known[0], value.value):
            yield _change(RowKind.UPDATE_BEFORE, value.key, known[0], value.checkpoint)
            yield _change(RowKind.UPDATE_AFTER, value.key, value.value, value.checkpoint)

    def process_broadcast_element(self, value: CopyComplete, ctx: Any) -> Iterable[Row]:
        gone: list[Row] = []

        def look(key: Any, copy: ValueState[tuple[Any, Any]]) -> None:
            entry = copy.value()
            if entry is not None and entry[1] != _checkpoint(value):
                gone.append(_change(RowKind.DELETE, key, entry[0], value.checkpoint))
                copy.clear()

        ctx.apply_to_keyed_state(_COPY, look)
        return gone


def _checkpoint(record: StateUpdate | CopyComplete) -> tuple[int, str]:
    """Identity of the record's checkpoint, unique even if the directory was recreated."""
    return record.checkpoint, record.snapshot_id


def _change(kind: RowKind, key: Any, value: Any, checkpoint: int) -> Row:
    return Row.of_kind(kind, key=key, value=value, checkpoint=checkpoint)


def key_of_update(update: StateUpdate) -> Any:
    """Key of an update."""
    return update.key
