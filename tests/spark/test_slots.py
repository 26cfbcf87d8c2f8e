from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.spark.slots import assign_slots, members

executors = st.lists(st.one_of(st.none(), st.sampled_from("abc")), max_size=40)


@given(executors, st.lists(st.integers(0, 39), max_size=40))
def test_no_two_tasks_of_one_executor_share_a_slot(places, previous) -> None:
    slots = assign_slots(places, previous)
    assert len(set(zip(places, slots, strict=True))) == len(places)
    assert all(0 <= slot < max(len(places), *previous, 1) + 40 for slot in slots)


@given(executors)
def test_tasks_keep_their_slots_while_they_stay(places) -> None:
    slots = assign_slots(places)
    assert assign_slots(places, slots) == slots


def test_executors_use_the_same_slots() -> None:
    """Slots are as many as the tasks of the fullest executor: each costs the driver in an epoch."""
    assert assign_slots(["a", "b", "a", "b", "a"]) == [0, 0, 1, 1, 2]


def test_only_a_task_that_collides_changes_its_slot() -> None:
    slots = assign_slots(["a", "b", "a", "b"])
    assert assign_slots(["a", "a", "a", "b"], slots) == [0, 1, 2, 1]


def test_in_one_executor_every_task_has_its_own_slot() -> None:
    assert assign_slots([None] * 4) == [0, 1, 2, 3]


def test_members_of_a_narrow_level_are_its_tasks_only() -> None:
    assert members([0, 0, 1, 1], 3) == {0: (0, 1), 1: (2,)}
