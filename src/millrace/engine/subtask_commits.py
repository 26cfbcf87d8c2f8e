"""Commits that only the subtask which wrote can make: sent with plans, answered by acks."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.engine.sink_commits import backoff, too_often
from millrace.runtime.epoch import Ack, CommitPlan
from millrace.state.serialization.payload import decode

__all__ = ["SubtaskCommits"]


@dataclass
class _Outstanding:
    subtask: int
    committable: bytes
    retries: int = 0
    due: int = 0
    """When to try (ms since the epoch)."""
    sent: bool = False


class SubtaskCommits:
    """What one sink's subtasks have yet to commit.

    Args:
        name: of the sink, for messages.
        retries: how often a committable is tried again before the job fails.
    """

    def __init__(self, name: str, parallelism: int, retries: int) -> None:
        self._name = name
        self._parallelism = parallelism
        self._retries = retries
        self._outstanding: list[_Outstanding] = []

    def add(self, committables: list[bytes]) -> None:
        """Of a durable checkpoint. What a subtask wrote that is no more is another one's."""
        for item in committables:
            subtask, _ = decode(item)
            self._outstanding.append(_Outstanding(subtask % self._parallelism, item))

    def committables(self) -> list[bytes]:
        """All that is not known to be committed."""
        return [item.committable for item in self._outstanding]

    def due(self) -> int | None:
        """When the next commit should be tried (ms since the epoch); None: nothing waits."""
        return min((item.due for item in self._outstanding), default=None)

    def plan(self, subtask: int, now: int) -> tuple[CommitPlan, ...]:
        """What a subtask is to commit in the next epoch."""
        mine = [i for i in self._outstanding if i.subtask == subtask]
        for item in mine:
            item.sent = item.due <= now
        return tuple(CommitPlan(i.committable, i.retries) for i in mine if i.sent)

    def accept(self, uid: str, ack: Ack, now: int) -> None:
        """An epoch has been accepted, and with it what a subtask has committed.

        Raises:
            JobExecutionError: a commit was tried too often.
        """
        sent = [i for i in self._outstanding if i.subtask == ack.subtask and i.sent]
        if not sent:
            return
        kept = [item for item in self._outstanding if item not in sent]
        # updated ones are other bytes: the number of tries is that of the most often tried
        tries = 1 + max(item.retries for item in sent)
        left = ack.uncommitted.get(uid, [])
        if left and tries > self._retries:
            raise too_often(self._name, tries, None)
        due = now + int(backoff(tries) * 1000)
        self._outstanding = kept + [_Outstanding(ack.subtask, c, tries, due) for c in left]
