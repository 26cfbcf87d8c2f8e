"""Commits that are made by subtasks rather than the driver, because they need the subtask that
wrote the data. Plans request these commits, and acks report their outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from millrace.engine.sink_commits import backoff, too_often
from millrace.runtime.epoch import Ack, CommitPlan
from millrace.state.serialization.payload import decode

__all__ = ["SubtaskCommits"]


@dataclass(slots=True)
class _Outstanding:
    checkpoint: int
    """Checkpoint that names the committable."""
    committable: bytes
    retries: int = 0
    due: int = 0
    """Time of the next try (ms since the epoch)."""
    sent: bool = False
    is_restored: bool = False
    """Whether an earlier run wrote it, or this one with another parallelism."""


class SubtaskCommits:
    """Committables that the subtasks of one sink have yet to commit.

    What was restored may have the keys of other subtasks, so all of it is committed before anything
    else, by one subtask, in the order of its epochs.

    Args:
        name: name of the sink, for messages.
        retries: number of retries for a committable before the job fails.
    """

    def __init__(self, name: str, parallelism: int, retries: int) -> None:
        self._name = name
        self._retries = retries
        self._outstanding: list[list[_Outstanding]] = [[] for _ in range(parallelism)]
        """Committables by subtask."""

    def add(self, committables: list[bytes], checkpoint: int, restored: int = 0) -> None:
        """Add the committables of a durable checkpoint, those of older epochs first. If the subtask
        that wrote one no longer exists, another subtask commits it.

        Args:
            restored: number of the first ones, which were restored.
        """
        for number, item in enumerate(committables):
            # runs of several parallelisms may have written what was restored
            of_restored = committables[0] if number < restored else item
            subtask, _ = decode(of_restored)
            mine = self._outstanding[subtask % len(self._outstanding)]
            mine.append(_Outstanding(checkpoint, item, is_restored=number < restored))

    def committables(self) -> list[bytes]:
        """All committables that are not known to be committed, those of older epochs first."""
        by_age = sorted(self._all(), key=lambda item: item.checkpoint)
        return [item.committable for item in by_age]

    def oldest(self) -> int | None:
        """First checkpoint with committables that are not known to be committed."""
        return min((item.checkpoint for item in self._all()), default=None)

    def due(self) -> int | None:
        """Time of the next try of a commit (ms since the epoch); None if there are none to make."""
        return min((item.due for item in self._first()), default=None)

    def _first(self) -> list[_Outstanding]:
        """Committables that may be committed now."""
        items = list(self._all())
        return [item for item in items if item.is_restored] or items

    def _all(self) -> Iterator[_Outstanding]:
        return chain.from_iterable(self._outstanding)

    def plan(self, subtask: int, now: int) -> tuple[CommitPlan, ...]:
        """Committables for a subtask to commit in the next epoch."""
        mine = self._outstanding[subtask]
        only_restored = any(item.is_restored for item in self._all())
        for item in mine:
            item.sent = item.due <= now and item.is_restored >= only_restored
        return tuple(CommitPlan(i.committable, i.retries) for i in mine if i.sent)

    def accept(self, uid: str, ack: Ack, now: int) -> None:
        """Process the commits of a subtask in an accepted epoch.

        Raises:
            JobExecutionError: a commit was tried too often.
        """
        mine = self._outstanding[ack.subtask]
        sent = [item for item in mine if item.sent]
        if not sent:
            return
        # updated ones are other bytes: they count as the oldest and most often tried of those sent
        checkpoint = min(item.checkpoint for item in sent)
        tries = 1 + max(item.retries for item in sent)
        left = ack.committing.uncommitted.get(uid)
        if left is not None and tries > self._retries:
            raise too_often(self._name, tries, left.reason)
        due = now + int(backoff(tries) * 1000)
        is_restored = sent[0].is_restored
        kept = [item for item in mine if not item.sent]
        items = left.committables if left is not None else []
        again = [
            _Outstanding(checkpoint, item, tries, due, is_restored=is_restored) for item in items
        ]
        self._outstanding[ack.subtask] = kept + again
