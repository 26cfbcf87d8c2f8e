"""Which rescalings are remembered, and how they ended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.engine.job_details import RescaleStatus, StageRescale
from millrace.engine.job_requests import JobEndedError, RescaleRequest, answer, refuse
from millrace.engine.rescale_history import REMEMBERED, RescaleHistory


def graph(**widths: int) -> Any:
    """As far as the history looks at it."""
    stages = [SimpleNamespace(uid=uid, name=uid, parallelism=n) for uid, n in widths.items()]
    return SimpleNamespace(program=SimpleNamespace(stages=stages))


def history() -> RescaleHistory:
    times = iter(range(100, 10_000, 10))
    return RescaleHistory(lambda: next(times))


def test_chains_may_differ_with_the_parallelism() -> None:
    told, request = history(), RescaleRequest(3)
    told.begin(request, graph(both=2))
    assert told.recent[0].status is None
    told.planned(graph(both=3, alone=2))
    answer(request, None)
    (stats,) = told.recent
    assert stats.stages == {
        "both": StageRescale("both", 2, 3),
        "alone": StageRescale("alone", None, 2),
    }
    assert (stats.status, stats.begun, stats.ended) == (RescaleStatus.COMPLETED, 100, 110)


def test_how_they_end() -> None:
    told = history()
    for error in (JobDefinitionError("too many"), JobEndedError("the job was cancelled")):
        request = RescaleRequest(3)
        told.begin(request, graph(both=2))
        refuse(request, error)
    given_up = RescaleRequest(3)
    told.begin(given_up, graph(both=2))
    told.planned(graph(both=3))
    given_up.done.cancel()
    statuses = [(each.status, each.failure) for each in reversed(told.recent)]
    assert statuses == [
        (RescaleStatus.FAILED, "too many"),
        (RescaleStatus.IGNORED, "the job was cancelled"),
        (RescaleStatus.COMPLETED, None),
    ]


def test_the_last_ones_are_remembered() -> None:
    told = history()
    requests = [RescaleRequest(number) for number in range(1, REMEMBERED + 3)]
    for request in requests:
        told.begin(request, graph(both=1))
    for request in requests:
        answer(request, None)
    numbers = [each.number for each in told.recent]
    assert numbers == list(range(REMEMBERED + 2, 2, -1))
