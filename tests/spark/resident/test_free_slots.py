"""The check for free slots, before resident tasks are started."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from millrace.common.errors import JobExecutionError
from millrace.engine.resident.tasks import never
from millrace.spark.resident.free_slots import require_free_slots


def application(slots: int, busy: list[int]) -> MagicMock:
    context = MagicMock()
    spark = context._jsc.sc.return_value
    spark.maxNumConcurrentTasks.return_value = slots
    counts = spark.taskScheduler.return_value.runningTasksByExecutors.return_value
    iterator = counts.valuesIterator.return_value
    iterator.hasNext.side_effect = [True] * len(busy) + [False]
    iterator.next.side_effect = busy
    return context


def test_enough_free_slots() -> None:
    require_free_slots(application(4, [1, 1]), 2)


def test_who_may_not_wait_any_more_does_not() -> None:
    """The job is cancelled."""
    with pytest.raises(JobExecutionError, match="needs 2 slots"):
        require_free_slots(application(1, []), 2, patience=3600, may_wait=never)


def test_too_few_slots_are_an_error_that_names_the_ways_out() -> None:
    with pytest.raises(JobExecutionError, match=r"needs 3 slots.*has 4, 2 of them busy: 2 free"):
        require_free_slots(application(4, [1, 1]), 3)
    with pytest.raises(JobExecutionError, match="millrace.executor: epochs"):
        require_free_slots(application(1, []), 2)
