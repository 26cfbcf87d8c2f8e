from __future__ import annotations

import logging

import pytest

from millrace.connectors.retries import FixedPauses, GrowingPauses, retried

LOGGER = logging.getLogger("millrace.tests")


def test_pauses_grow_until_nothing_has_got_in_for_a_while() -> None:
    pauses = GrowingPauses(first=1, longest=3, patience=10)
    assert [pauses.next(False, 0) for _ in range(4)] == [1, 2, 3, 3]
    assert pauses.next(True, 100) == 1
    assert pauses.next(False, 5) == 2
    assert pauses.next(False, 2) is None


def test_an_attempt_is_repeated_after_each_pause() -> None:
    failures, slept = iter(["away", "full"]), list[float]()

    def attempt() -> str:
        if failure := next(failures, None):
            raise ConnectionError(failure)
        return "done"

    assert retried(attempt, FixedPauses([0.5, 2, 4]), LOGGER, slept.append) == "done"
    assert slept == [0.5, 2]


def test_the_last_failure_is_raised() -> None:
    failures, slept = iter(["first", "second", "third"]), list[float]()

    def attempt() -> None:
        raise ConnectionError(next(failures))

    with pytest.raises(ConnectionError, match="second"):
        retried(attempt, FixedPauses([3]), LOGGER, slept.append)
    assert slept == [3]
