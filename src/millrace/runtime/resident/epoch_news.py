"""News of the open epoch, by which the driver decides when it ends."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.runtime.resident.control import News
from millrace.runtime.resident.resident_subtask import Phase, ResidentSubtask

__all__ = ["EpochNews"]


class EpochNews:
    """Finds the news in the subtasks of one worker, each kind once in an epoch.

    Only turns make news, so only subtasks that had one are asked: to ask all of 128 subtasks at
    each step took a quarter of a worker's time.
    """

    def __init__(self) -> None:
        self._told: set[News] = set()
        self._subtasks: Sequence[ResidentSubtask] = ()
        self._turned: list[ResidentSubtask] = []
        """Subtasks that had a turn, or began the epoch, since the last look."""

    def begin(self, subtasks: Sequence[ResidentSubtask]) -> None:
        """Begin an epoch with these subtasks."""
        self._told, self._subtasks, self._turned = set(), subtasks, list(subtasks)

    def turned(self, subtask: ResidentSubtask) -> None:
        """Note that a subtask had a turn."""
        self._turned.append(subtask)

    def take(self) -> set[News]:
        """News of the epoch that has not been taken yet."""
        turned, self._turned = self._turned, []
        if self._subtasks and not turned:
            return set()
        news = self._news_of(turned) - self._told
        self._told |= news
        return news

    def _news_of(self, turned: Sequence[ResidentSubtask]) -> set[News]:
        news: set[News] = set()
        opened = [subtask for subtask in turned if subtask.phase is Phase.OPEN]
        if News.RECORDS not in self._told and any(s.has_news for s in opened):
            news.add(News.RECORDS)
        if News.REQUEST not in self._told and any(s.subtask.wants_barrier for s in opened):
            news.add(News.REQUEST)
        if News.IDLENESS not in self._told and any(s.subtask.awaits_barrier for s in opened):
            news.add(News.IDLENESS)
        if all(subtask.is_exhausted for subtask in self._subtasks if subtask.is_source):
            news.add(News.EXHAUSTED)
        return news
