from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.runtime.timers import TimerQueue
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE

KEYS = st.sampled_from("abc")
TIMES = st.integers(0, 20)
ACTIONS = st.one_of(
    st.tuples(st.sampled_from(["register", "delete"]), KEYS, TIMES),
    st.tuples(st.just("fire"), TIMES),
    st.tuples(st.just("register on firing"), KEYS, TIMES),
    st.sampled_from([("commit",), ("abort",)]),
)


class Model:
    """The timers as a set, and the set as of the last commit."""

    def __init__(self) -> None:
        self.timers: set[tuple[int, str]] = set()
        self.committed: set[tuple[int, str]] = set()

    def fire(self, until: int, then: tuple[int, str] | None) -> list[tuple[int, str]]:
        fired = []
        while due := [timer for timer in self.timers if timer[0] <= until]:
            timer = min(due)
            at = timer[0]
            group = sorted(timer for timer in due if timer[0] == at)
            self.timers -= set(group)
            fired += group
            if then is not None:
                self.timers.add(then)
                then = None
        return fired


def commit(state: SubtaskState, epoch: int) -> None:
    version = f"v{epoch}"
    if state.snapshot(epoch, version):
        state.align(version, (), lambda delta: b"")


@settings(max_examples=150, deadline=None)
@given(st.lists(ACTIONS, max_size=40))
def test_against_a_naive_model(actions) -> None:
    """Registering, deleting, firing, setting timers while firing, commits and aborts."""
    state, model = SubtaskState(), Model()
    queue = TimerQueue(state, TableId("op", "timers"), EVENT_TIMER_QUEUE)
    queue.refresh()
    then: tuple[int, str] | None = None
    for epoch, (action, *details) in enumerate(actions):
        if action == "register":
            key, time = details
            queue.register(time, key)
            model.timers.add((time, key))
        elif action == "delete":
            key, time = details
            queue.delete(time, key)
            model.timers.discard((time, key))
        elif action == "register on firing":
            then = (details[1], details[0])
        elif action == "fire":
            fired: list[tuple[int, str]] = []
            waiting = [then] if then else []

            def on_timer(timestamp, key, namespace, fired=fired, waiting=waiting) -> None:
                fired.append((timestamp, key))
                if waiting:
                    time, other = waiting.pop()
                    queue.register(time, other)

            expected = model.fire(details[0], then)
            queue.fire(details[0], on_timer)
            assert [time for time, _ in fired] == [time for time, _ in expected]
            assert sorted(fired) == sorted(expected)
            then = then if waiting else None
        elif action == "commit":
            commit(state, epoch)
            model.committed = set(model.timers)
        else:
            state.roll_back()
            queue.refresh()
            model.timers = set(model.committed)
        assert queue.earliest() == min((time for time, _ in model.timers), default=None)


def test_namespaces_are_apart() -> None:
    queue = TimerQueue(SubtaskState(), TableId("op", "timers"), EVENT_TIMER_QUEUE)
    queue.register(1, "a", "x")
    queue.register(1, "a", "y")
    queue.delete(1, "a", "x")
    fired = []
    queue.fire(1, lambda timestamp, key, namespace: fired.append((key, namespace)))
    assert fired == [("a", "y")]
