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

    A subtask commits in the order of its checkpoints: while one of its commits waits for the next
    try, those of newer checkpoints wait, too. What was restored may have the keys of other
    subtasks, so all of it is committed before anything else, by one subtask, in the order of its
    epochs.

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
        return min((items[0].due for items in self._first()), default=None)

    def _first(self) -> list[list[_Outstanding]]:
        """Committables of the subtasks that may commit now."""
        present = [items for items in self._outstanding if items]
        return [items for items in present if items[0].is_restored] or present

    def _all(self) -> Iterator[_Outstanding]:
        return chain.from_iterable(self._outstanding)

    def plan(self, subtask: int, now: int) -> tuple[CommitPlan, ...]:
        """Committables for a subtask to commit in the next epoch, those of older checkpoints first.
        No committable overtakes an older one that waits for its next try."""
        mine = self._outstanding[subtask]
        only_restored = any(item.is_restored for item in self._all())
        held = False
        for item in mine:
            held = held or item.due > now or item.is_restored < only_restored
            item.sent = not held
        sent = [item for item in mine if item.sent]
        turns = {checkpoint: n for n, checkpoint in enumerate(sorted({i.checkpoint for i in sent}))}
        return tuple(CommitPlan(i.committable, i.retries, turns[i.checkpoint]) for i in sent)

    def accept(self, uid: str, ack: Ack, now: int) -> None:
        """Process the commits of a subtask in an accepted epoch.

        Raises:
            JobExecutionError: a commit was tried too often.
        """
        mine = self._outstanding[ack.subtask]
        sent = [item for item in mine if item.sent]
        if not sent:
            return
        left = ack.committing.uncommitted.get(uid)
        if left is None:
            self._outstanding[ack.subtask] = mine[len(sent) :]
            return
        done = len(sent) - left.untried
        # The committables that are left may be changed ones, so they cannot be matched: each counts
        # as tried as often as the most often tried one of its checkpoint.
        last = sent[done - 1]
        tries = 1 + max(i.retries for i in sent[:done] if i.checkpoint == last.checkpoint)
        if tries > self._retries:
            raise too_often(self._name, tries, left.reason)
        due = now + int(backoff(tries) * 1000)
        again = [
            _Outstanding(last.checkpoint, item, tries, due, is_restored=last.is_restored)
            for item in left.committables
        ]
        self._outstanding[ack.subtask] = again + mine[done:]
