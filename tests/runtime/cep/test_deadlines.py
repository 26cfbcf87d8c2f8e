"""Deadlines of keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.cep.deadlines import Deadlines


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=12), st.integers(0, 9))
def test_the_earliest_time_of_a_key_counts(settings: list[tuple[int, int]], until: int) -> None:
    deadlines = Deadlines()
    model: dict[int, int] = {}
    for key, time in settings:
        deadlines.set(key, time)
        model[key] = min(time, model.get(key, time))
    assert deadlines.earliest() == min(model.values(), default=None)
    due = deadlines.take_due(until)
    assert sorted(due) == sorted(key for key, time in model.items() if time <= until)
    assert [model[key] for key in due] == sorted(model[key] for key in due)
    left = [time for time in model.values() if time > until]
    assert deadlines.earliest() == min(left, default=None)


def test_filled_anew() -> None:
    deadlines = Deadlines()
    deadlines.set("a", 1)
    deadlines.fill({"b": 3, "c": 2})
    assert deadlines.take_due(5) == ["c", "b"]
    assert deadlines.earliest() is None
