"""Watermark valve: a subtask's watermark is the minimum over its active input channels.

Semantics: Flink docs, "Generating Watermarks" (idle channels are left out; when all are idle, the
highest watermark goes through, as in Flink's class ``StatusWatermarkValve``).

Within an epoch of resident tasks, news of one source reaches a subtask by several channels at
different times. Its `hear` therefore keeps to what was so at the last barrier, by which all news
had arrived (docs/decisions, "Idle channels").
"""

from __future__ import annotations

from collections.abc import Iterable

from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_id import VALVE

Channel = tuple[int, int]
ValveSnapshot = tuple[list[tuple[int, bool]], int]
"""(watermark, idle) per channel, in order: edges are renumbered when a program changes."""


def _merged(valves: list[tuple[ValveSnapshot, bool]]) -> tuple[ValveSnapshot, bool]:
    """Merged snapshot of several valves: the lowest watermark, so that time does not go back,
    and no channels. The channels report their watermarks again in every epoch."""
    reached = min(snapshot[1] for snapshot, _ in valves)
    return ([], reached), all(ended for _, ended in valves)


VALVE_STATE = OperatorStateDeclaration(VALVE[1], RedistributionMode.MERGE, _merged, of_inputs=True)
"""A valve's snapshot, and whether its input has ended: state of the subtask, not of an operator."""


def reopened(snapshot: ValveSnapshot) -> ValveSnapshot:
    """A valve's snapshot, changed for a job that continues after its end: event time starts
    over."""
    rows, watermark = snapshot
    begun = {MAX_WATERMARK: MIN_WATERMARK}
    return [(begun.get(mark, mark), idle) for mark, idle in rows], begun.get(watermark, watermark)


class WatermarkValve:
    """Watermark and status of each channel (edge, producer subtask)."""

    def __init__(self, channels: list[Channel]) -> None:
        self._watermarks = dict.fromkeys(channels, MIN_WATERMARK)
        self._idle: set[Channel] = set()
        """Channels that are left out."""
        self._doubted: set[Channel] = set()
        """Channels that have told that they are idle, but count until the next barrier."""
        self.awaits_barrier = False
        """Whether something that was heard takes effect at the next barrier."""
        self._behind: int | None = None
        """Number of active channels that are not beyond the subtask's watermark. None if it must be
        counted."""
        self.watermark = MIN_WATERMARK
        """Watermark of the subtask. It never goes back."""

    def advance(self, channel: Channel, watermark: int) -> bool:
        """Take a channel's watermark, and return whether the subtask's watermark advances."""
        before = self._watermarks[channel]
        if watermark <= before:
            return False
        self._watermarks[channel] = watermark
        if channel in self._idle or self._behind is None:
            return self._let_through()
        if before <= self.watermark < watermark:
            self._behind -= 1
        return self._behind <= 0 and self._let_through()

    def set_idle(self, channel: Channel, idle: bool) -> bool:
        """Set whether a channel is idle, and return whether the subtask's watermark advances."""
        if idle == (channel in self._idle):
            return False
        self._behind = None
        if not idle:
            self._idle.discard(channel)
            return False
        self._idle.add(channel)
        return self._let_through()

    def end(self, channel: Channel, watermark: int, idle: bool) -> bool:
        """Take the last watermark of a channel in an epoch, and return whether the subtask's
        watermark advances.
        """
        changed = self.set_idle(channel, idle)
        return self.advance(channel, watermark) or changed

    def hear(self, channel: Channel, watermark: int, idle: bool) -> bool:
        """Take a channel's watermark and status within an epoch on resident tasks, and return
        whether the subtask's watermark advances.

        A channel that becomes idle counts until the next barrier. If an idle channel wakes, those
        that are still idle count again, too: the same news may be on its way to their producers.
        """
        if not idle:
            self._wake(channel)
            return self.advance(channel, watermark)
        if channel in self._idle:
            if watermark > self._watermarks[channel]:
                self._watermarks[channel] = watermark
                self.awaits_barrier = True
            return False
        self._doubted.add(channel)
        self.awaits_barrier = True
        return self.advance(channel, watermark)

    def _wake(self, channel: Channel) -> None:
        self._doubted.discard(channel)
        if channel in self._idle:
            self._idle.remove(channel)
            self._doubted |= self._idle
            self.awaits_barrier = self.awaits_barrier or bool(self._doubted)
            self._idle = set()
            self._behind = None

    def settle(self, ends: Iterable[tuple[Channel, int, bool]]) -> bool:
        """Take the barrier of an epoch on resident tasks, and return whether the subtask's
        watermark advances.

        Args:
            ends: watermark and status with which channels end the epoch, if they differ from what
                the channel told before.
        """
        is_changed = self.awaits_barrier
        for channel, watermark, idle in ends:
            is_changed = True
            self._watermarks[channel] = max(self._watermarks[channel], watermark)
            if idle:
                self._doubted.add(channel)
            else:
                self._doubted.discard(channel)
                self._idle.discard(channel)
        if not is_changed:
            return False
        self._idle |= self._doubted
        self._doubted = set()
        self.awaits_barrier = False
        return self._let_through()

    @property
    def idle(self) -> bool:
        """Whether all channels are idle."""
        return len(self._idle) == len(self._watermarks)

    @property
    def ended(self) -> bool:
        """Whether all channels have ended. Idle channels have not ended, because they may still
        continue."""
        return all(mark == MAX_WATERMARK for mark in self._watermarks.values())

    def _let_through(self) -> bool:
        idle = self._idle
        active = [mark for channel, mark in self._watermarks.items() if channel not in idle]
        lowest = min(active) if active else self._highest()
        let_through = lowest > self.watermark and (lowest < MAX_WATERMARK or self.ended)
        if let_through:
            self.watermark = lowest
        reached = self.watermark
        self._behind = sum(mark <= reached for mark in active)
        return let_through

    def _highest(self) -> int:
        """Highest watermark of the channels. It is the subtask's watermark if all channels are
        idle, because there is then no channel to wait for."""
        marks = [mark for mark in self._watermarks.values() if mark < MAX_WATERMARK]
        return max(marks, default=MIN_WATERMARK)

    def snapshot(self) -> ValveSnapshot:
        """The valve as plain data, part of every checkpoint."""
        rows = [(mark, channel in self._idle) for channel, mark in self._watermarks.items()]
        return rows, self.watermark

    def restore(self, snapshot: ValveSnapshot) -> None:
        """Restore the valve from `snapshot`. Channels are restored only if their number is the
        same."""
        rows, self.watermark = snapshot
        self._behind = None
        if len(rows) != len(self._watermarks):
            return
        for channel, (mark, idle) in zip(list(self._watermarks), rows, strict=True):
            self._watermarks[channel] = mark
            if idle:
                self._idle.add(channel)
