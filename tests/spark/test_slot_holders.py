"""The slots of an application that its jobs leave free."""

from __future__ import annotations

import itertools
from unittest.mock import MagicMock

import pytest

from millrace.common.errors import JobExecutionError
from millrace.common.job import JobStatus
from millrace.engine.executor_choice import ExecutorChoice, ExecutorKind, SlotCount
from millrace.spark import slot_holders
from millrace.spark.slot_holders import chosen_holder, note_holder, slot_count

NUMBERS = itertools.count()
RESIDENT = ExecutorChoice(ExecutorKind.RESIDENT, "the test says so")
EPOCHS = ExecutorChoice(ExecutorKind.EPOCHS, "the test says so")


class Application:
    """An application with some slots."""

    def __init__(self, slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.busy = 0
        self.settings: dict[str, str] = {}
        self.context = MagicMock()
        self.context.applicationId = f"test-{next(NUMBERS)}"
        self.context.getConf.return_value = self.settings
        self.context._jsc.sc.return_value.maxNumConcurrentTasks.return_value = slots
        monkeypatch.setattr(slot_holders, "busy_slots", lambda context: self.busy)


def test_two_jobs_do_not_get_the_same_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    four = Application(4, monkeypatch)
    first = chosen_holder(four.context, 2)
    assert first.choice.kind is ExecutorKind.RESIDENT
    half = chosen_holder(four.context, 1)  # before a task of the first runs
    assert (half.choice.kind, half.tasks) == (ExecutorKind.RESIDENT, 1)
    second = chosen_holder(four.context, 2)
    assert second.choice.kind is ExecutorKind.EPOCHS
    assert "has 1 of 4" in second.choice.reason
    third = chosen_holder(four.context, 1)
    assert third.choice.reason.startswith("another job runs on epochs")
    second.ended(JobStatus.FINISHED, None)
    third.closed()
    half.closed()
    assert chosen_holder(four.context, 1).choice.kind is ExecutorKind.RESIDENT


def test_tasks_of_a_started_job_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    four = Application(4, monkeypatch)
    job = note_holder(four.context, RESIDENT, 2)
    job.started("")
    four.busy = 2
    assert slot_count(four.context) == SlotCount(4, 2)
    four.busy = 0  # they are started anew
    assert slot_count(four.context) == SlotCount(4, 2)
    four.busy = 3  # a query of a notebook
    assert slot_count(four.context) == SlotCount(4, 1)


def test_a_job_whose_client_is_gone_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    four = Application(4, monkeypatch)
    holder = note_holder(four.context, EPOCHS)
    assert slot_count(four.context) == SlotCount(4, 4, 1)
    del holder
    assert slot_count(four.context) == SlotCount(4, 4)


def test_dynamic_allocation_means_epochs_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = Application(100, monkeypatch)
    many.settings["spark.dynamicAllocation.enabled"] = "true"
    choice = chosen_holder(many.context, 2).choice
    assert str(choice) == "epochs: spark.dynamicAllocation.enabled changes the slots"
    assert chosen_holder(many.context, 2, RESIDENT).choice is RESIDENT


def test_a_job_is_refused_whose_slots_another_one_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also before the tasks of the other one run: each would get a part of the slots."""
    four = Application(4, monkeypatch)
    first = chosen_holder(four.context, 3, RESIDENT)
    with pytest.raises(JobExecutionError, match=r"needs 2 slots.*has 4, 3 of them busy: 1 free"):
        chosen_holder(four.context, 2, RESIDENT)
    assert chosen_holder(four.context, 1, RESIDENT).tasks == 1
    first.closed()
    assert chosen_holder(four.context, 3, RESIDENT).tasks == 3


def test_a_sink_that_runs_spark_jobs_needs_a_slot_beside_the_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = Application(2, monkeypatch)
    with pytest.raises(JobExecutionError, match=r"'lake' runs Spark jobs.*last of the.* 2 slots"):
        chosen_holder(two.context, 2, RESIDENT, "lake")
    assert chosen_holder(two.context, 1, RESIDENT, "lake").tasks == 1
