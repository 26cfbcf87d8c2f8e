"""ObjectMessages: messages that are any Python values, from the vertices of a task to all others.

A message to all neighbours is kept once, and pickled once for each task that has some of them.
Which edges it goes along, and which vertices get it, is computed on arrays.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobExecutionError
from millrace.graph.kernels.segments import entries
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import Array, GraphPartition
from millrace.state.serialization.pickles import dump_pickle

__all__ = ["Inbox", "ObjectMessages"]

Combining = Callable[[list[Any]], Any]
"""Function that makes one message of several ones for the same vertex."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """Received messages, by receiver."""

    vertices: list[int]
    """Own vertices that have messages, ascending."""
    bounds: list[int]
    """Position of the first message of each of them, and the number of messages at the end."""
    messages: list[Any]


class ObjectMessages:
    """Messages that are sent in one superstep.

    Args:
        partition: vertices and edges of the task.
        exchange: exchange with the other tasks.
        slot_ids: ids of all slots, as the program knows them.
    """

    def __init__(
        self, partition: GraphPartition, exchange: GraphExchange, slot_ids: Callable[[], list[Any]]
    ) -> None:
        self._partition = partition
        self._exchange = exchange
        self._slot_ids = slot_ids
        self._slot_of_id: dict[Any, int] | None = None
        self.senders: list[int] = []
        """Own vertices that have sent `to_neighbors`."""
        self.to_neighbors: list[Any] = []
        self.targets: list[Any] = []
        """Ids of vertices to which `to_targets` go."""
        self.to_targets: list[Any] = []
        self.to_slots: tuple[Array, list[Any]] | None = None
        """Slots, and a message for each of them. They exclude all other messages."""

    def deliver(self, combine: Combining | None = None) -> Inbox | None:
        """Send all messages. Returns the messages for own vertices, or None if no task has sent
        any. All tasks call this at the same time.

        Raises:
            JobExecutionError: a message goes to a vertex that does not exist.
        """
        slots, positions, messages = self._addressed()
        unknown = self._unknown(slots, positions, messages)
        known = slots >= 0
        slots, positions = slots[known], positions[known]
        counts = np.array([len(slots), len(unknown)], np.int64)
        counts = self._exchange.all_reduce(counts)
        if not counts.any():
            return None
        if combine is not None:
            slots, positions, messages = _combined(slots, positions, messages, combine)
        arrived = self._swapped(slots, positions, messages)
        if counts[1]:
            arrived.append(self._found(unknown))
        return _inbox(arrived, combine)

    def _addressed(self) -> tuple[Array, Array, list[Any]]:
        """Slot of the receiver, and position of the message, for each delivery."""
        self._unresolved: list[Any] = []
        if self.to_slots is not None:
            slots, messages = self.to_slots
            self.to_slots = None
            return slots.astype(np.int64), np.arange(len(messages)), messages
        senders = np.array(self.senders, np.int64)
        edges, counts = entries(self._partition.offsets, senders)
        slots = self._partition.targets[edges].astype(np.int64)
        positions = np.repeat(np.arange(len(senders)), counts)
        messages = self.to_neighbors
        if self.targets:
            direct = self._slots_of(self.targets)
            slots = np.concatenate([slots, direct])
            more = np.arange(len(messages), len(messages) + len(direct))
            positions = np.concatenate([positions, more])
            messages = messages + self.to_targets
        self.senders, self.to_neighbors = [], []
        self._unresolved, self.targets, self.to_targets = self.targets, [], []
        self._first_direct = len(messages) - len(self._unresolved)
        return slots, positions, messages

    def _slots_of(self, ids: list[Any]) -> npt.NDArray[np.int64]:
        """Slots of ids; -1 for vertices that are neither here nor neighbours."""
        if self._slot_of_id is None:
            self._slot_of_id = {known: slot for slot, known in enumerate(self._slot_ids())}
        get = self._slot_of_id.get
        return np.fromiter((get(wanted, -1) for wanted in ids), np.int64, len(ids))

    def _unknown(
        self, slots: Array, positions: Array, messages: list[Any]
    ) -> list[tuple[Any, Any]]:
        """Ids and messages of receivers that are not neighbours."""
        rows = positions[slots < 0].tolist()
        return [(self._unresolved[row - self._first_direct], messages[row]) for row in rows]

    def _found(self, unknown: list[tuple[Any, Any]]) -> tuple[Array, Array, list[Any]]:
        """Messages that any task has for own vertices that are not its neighbours."""
        gathered = [pair for part in self._exchange.all_gather(unknown) for pair in part]
        slots = self._slots_of([wanted for wanted, _ in gathered])
        here = (slots >= 0) & (slots < self._partition.vertex_count)
        exists = self._exchange.all_reduce(here.astype(np.int8), "max")
        if not exists.all():
            missing = gathered[int(np.argmin(exists))][0]
            raise JobExecutionError(
                f"a message was sent to vertex {missing!r}, which does not exist: send messages to "
                "vertices of the graph only"
            )
        positions = np.flatnonzero(here)
        return slots[positions], positions, [message for _, message in gathered]

    def _swapped(
        self, slots: Array, positions: Array, messages: list[Any]
    ) -> list[tuple[Array, Array, list[Any]]]:
        """Receivers, positions and messages from each task."""
        own, parts = self._exchange.index, []
        for task, (rows, places) in enumerate(self._exchange.addressed(slots)):
            wanted = positions[rows]
            if task == own:
                parts.append([places, wanted, np.empty(0, np.uint8)])
                continue
            distinct, wanted = np.unique(wanted, return_inverse=True)
            data = dump_pickle([messages[position] for position in distinct.tolist()])
            parts.append([places, wanted.astype(np.int32), np.frombuffer(data, np.uint8)])
        received = self._exchange.swap_addressed("messages", parts)
        return [
            (part[0], part[1], messages if task == own else pickle.loads(part[2]))
            for task, part in enumerate(received)
        ]


def _combined(
    slots: Array, positions: Array, messages: list[Any], combine: Combining
) -> tuple[Array, Array, list[Any]]:
    """One message for each slot."""
    inbox = _inbox([(slots, positions, messages)], combine)
    receivers = np.array(inbox.vertices, np.int64)
    return receivers, np.arange(len(receivers)), inbox.messages


def _inbox(parts: list[tuple[Array, Array, list[Any]]], combine: Combining | None) -> Inbox:
    """Messages by receiver, those of task 0 first."""
    receivers = np.concatenate([part[0] for part in parts])
    flat = np.concatenate([_objects(messages)[positions] for _, positions, messages in parts])
    order = np.argsort(receivers, kind="stable")
    vertices, firsts = np.unique(receivers[order], return_index=True)
    bounds = [*firsts.tolist(), len(order)]
    messages = flat[order].tolist()
    if combine is not None and len(vertices) < len(messages):
        messages = [
            messages[low] if high - low == 1 else combine(messages[low:high])
            for low, high in pairwise(bounds)
        ]
        bounds = list(range(len(messages) + 1))
    return Inbox(vertices.tolist(), bounds, messages)


def _objects(messages: list[Any]) -> Array:
    return np.fromiter(messages, dtype=object, count=len(messages))
