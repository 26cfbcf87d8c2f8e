"""The built-in evictors, on lists of records."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.time import Time
from millrace.common.window.evictor import CountEvictor, DeltaEvictor, TimeEvictor, TimestampedValue
from millrace.common.window.time_window import TimeWindow

WINDOW = TimeWindow(0, 100)


def elements(*times: int | None) -> list[TimestampedValue]:
    return [TimestampedValue(number, time) for number, time in enumerate(times)]


def distance(one: int, last: int) -> int:
    return last - one


@pytest.mark.parametrize(
    ("evictor", "times", "kept"),
    [
        (CountEvictor.of(2), (1, 2, 3), [1, 2]),
        (CountEvictor.of(3), (1, 2, 3), [0, 1, 2]),
        (TimeEvictor.of(Time.milliseconds(5)), (10, 14, 15, 12), [1, 2, 3]),
        (TimeEvictor.of(1), (3, 1, 3), [0, 2]),
        (TimeEvictor.of(1), (3, None, 1), [0, 1, 2]),
        (TimeEvictor.of(1), (), []),
        (DeltaEvictor.of(2, distance), (1, 1, 1, 1), [2, 3]),
        (DeltaEvictor.of(0.5, lambda one, last: 0), (1, 1), [0, 1]),
        (DeltaEvictor.of(1, distance), (), []),
    ],
)
def test_what_is_kept(evictor, times, kept) -> None:
    """Before the function, unless it is to be after it."""
    given = elements(*times)
    before = evictor.evict_before(given, len(given), WINDOW, None)
    assert [element.value for element in before] == kept
    assert evictor.evict_after(given, len(given), WINDOW, None) == given


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountEvictor.of(1, True),
        lambda: TimeEvictor.of(1, do_evict_after=True),
        lambda: DeltaEvictor.of(1, distance, do_evict_after=True),
    ],
)
def test_after_the_function(make) -> None:
    given = elements(1, 5)
    assert make().evict_before(given, 2, WINDOW, None) == given
    assert make().evict_after(given, 2, WINDOW, None) == given[1:]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CountEvictor.of(0), "CountEvictor needs a count > 0, got 0"),
        (lambda: TimeEvictor.of(Time.seconds(-1)), "TimeEvictor needs a time > 0 ms, got -1000"),
        (lambda: DeltaEvictor.of(1, "far"), "DeltaEvictor needs a function of two records"),
    ],
)
def test_wrong_parameters_are_refused(make, message) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make()
