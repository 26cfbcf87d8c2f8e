"""Events that wait for the watermark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.cep.waiting_events import MOST_RUNS, EventColumns, WaitingEvents
from millrace.runtime.operator import OperatorContext
from millrace.state.store import SubtaskState

STEPS = st.lists(
    st.one_of(
        st.lists(st.tuples(st.sampled_from("kl"), st.integers(0, 20)), max_size=4),
        st.integers(0, 22),
        st.sampled_from(["epoch", "restart"]),
    ),
    max_size=12,
)


def by_time(taken: EventColumns) -> list[tuple[int, int, str]]:
    """What was taken; those of the same time stay as they were given."""
    rows = zip(taken.times, taken.values, taken.keys, strict=True)
    return sorted(rows, key=lambda row: row[0])


@given(STEPS)
def test_they_wait_for_the_watermark_and_equal_times_stay_in_order(steps: list[object]) -> None:
    state = SubtaskState()
    context = OperatorContext("cep", "CEP", 0, 1, 128, state, lambda: 0)
    waiting = WaitingEvents(context)
    model: list[tuple[int, int, str]] = []
    arrived = epoch = 0
    for step in steps:
        if isinstance(step, list):
            numbers = list(range(arrived, arrived + len(step)))
            waiting.add([key for key, _ in step], list(numbers), [time for _, time in step])
            model += [(time, n, key) for n, (key, time) in zip(numbers, step, strict=True)]
            arrived += len(step)
        elif isinstance(step, int):
            taken = waiting.take(step)
            due = sorted(event for event in model if event[0] <= step)
            model = [event for event in model if event[0] > step]
            assert by_time(taken) == due
        else:
            waiting.flush()
            epoch += 1
            if step == "restart":
                waiting = WaitingEvents(context)
            waiting.begin_epoch(epoch)
    left = waiting.take(99)
    assert by_time(left) == sorted(model)
    assert not any(table.entry_count() for table in state.tables.values())


def test_many_unordered_batches_are_made_one() -> None:
    waiting = WaitingEvents(OperatorContext("cep", "CEP", 0, 1, 128, SubtaskState(), lambda: 0))
    batches = 3 * MOST_RUNS
    for number in range(batches):
        waiting.add(["k", "k"], [2 * number, 2 * number + 1], [50 - number, 50])
    assert len(waiting._runs) <= MOST_RUNS
    expected = sorted(
        (time, n) for n in range(2 * batches) for time in [50 if n % 2 else 50 - n // 2]
    )
    taken = waiting.take(30)
    assert [row[:2] for row in by_time(taken)] == [row for row in expected if row[0] <= 30]
    rest = waiting.take(50)
    assert [row[:2] for row in by_time(rest)] == [row for row in expected if row[0] > 30]
