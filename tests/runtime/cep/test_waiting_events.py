"""Events that wait for the watermark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.cep.waiting_events import WaitingEvents
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


@given(STEPS)
def test_they_come_in_the_order_of_their_times(steps: list[object]) -> None:
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
            assert list(zip(taken.times, taken.values, taken.keys, strict=True)) == due
        else:
            waiting.flush()
            epoch += 1
            if step == "restart":
                waiting = WaitingEvents(context)
            waiting.begin_epoch(epoch)
    left = waiting.take(99)
    assert list(zip(left.times, left.values, left.keys, strict=True)) == sorted(model)
    assert not any(table.entry_count() for table in state.tables.values())
