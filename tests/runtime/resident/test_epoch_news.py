"""Tests of `EpochNews`: each kind of news is taken once in an epoch, from subtasks that worked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from millrace.runtime.resident.control import News
from millrace.runtime.resident.epoch_news import EpochNews
from millrace.runtime.resident.resident_subtask import Phase


class Stub(SimpleNamespace):
    """A subtask that counts how often it is asked."""

    def __init__(self, is_source: bool = False) -> None:
        super().__init__(phase=Phase.OPEN, is_source=is_source, is_exhausted=False)
        self.subtask: Any = SimpleNamespace(wants_barrier=False, awaits_barrier=False)
        self.asked = 0
        self.news = False

    @property
    def has_news(self) -> bool:
        self.asked += 1
        return self.news


def begun(*subtasks: Any) -> EpochNews:
    news = EpochNews()
    news.begin(subtasks)
    return news


def test_news_is_taken_once_in_an_epoch() -> None:
    source = Stub(is_source=True)
    source.news = True
    news = begun(source)
    assert news.take() == {News.RECORDS}
    news.turned(source)
    assert news.take() == set()
    news.begin((source,))
    assert news.take() == {News.RECORDS}


def test_only_subtasks_that_had_a_turn_are_asked() -> None:
    source, other = Stub(is_source=True), Stub()
    news = begun(source, other)
    assert news.take() == set()
    assert (source.asked, other.asked) == (1, 1)
    other.subtask.wants_barrier = other.subtask.awaits_barrier = True
    news.turned(source)
    assert news.take() == set()
    assert (source.asked, other.asked) == (2, 1)
    news.turned(other)
    assert news.take() == {News.REQUEST, News.IDLENESS}
    assert news.take() == set()
    assert (source.asked, other.asked) == (2, 2)


def test_the_input_is_exhausted_when_all_sources_are() -> None:
    first, second = Stub(is_source=True), Stub(is_source=True)
    news = begun(first, second)
    first.is_exhausted = True
    news.turned(first)
    assert news.take() == set()
    second.is_exhausted = True
    news.turned(second)
    assert news.take() == {News.EXHAUSTED}


def test_a_subtask_whose_epoch_has_ended_has_no_news() -> None:
    source, waiting = Stub(is_source=True), Stub()
    news = begun(source, waiting)
    waiting.news, waiting.phase = True, Phase.WAITING
    assert news.take() == set()


def test_a_worker_without_sources_has_no_input() -> None:
    assert begun(Stub()).take() == {News.EXHAUSTED}
    assert begun().take() == {News.EXHAUSTED}
