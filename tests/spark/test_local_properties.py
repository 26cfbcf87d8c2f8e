"""What a user sets for Spark in the thread that starts a job reaches its Spark jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment

pytestmark = pytest.mark.spark

NAMES = ("spark.scheduler.pool", "spark.jobGroup.id", "spark.job.description", "mine")


@pytest.fixture
def properties(spark: Any) -> Iterator[Any]:
    """Sets and reads the properties of this thread."""
    context = spark.sparkContext
    before = context._jsc.sc().getLocalProperties().clone()
    yield context
    context._jsc.sc().setLocalProperties(before)


def seen(_: int) -> tuple[str | None, ...]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return (*map(context.getLocalProperty, NAMES), context.getLocalProperty("spark.job.tags"))


@pytest.mark.parametrize("executor", ["epochs", "resident"])
def test_tasks_have_the_properties_of_the_thread_that_starts_the_job(
    executor: str, properties: Any
) -> None:
    """Whichever thread runs it; and that thread keeps them."""
    properties.setLocalProperty("spark.scheduler.pool", "batch")
    properties.setJobGroup("reports", "the monthly one")
    properties.setLocalProperty("mine", "7")
    properties.addJobTag("month")
    configuration = Configuration({"millrace.executor": executor})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    with env.from_collection([1]).map(seen).execute_and_collect() as results:
        [(*found, tags)] = results
    assert found == ["batch", "reports", "the monthly one", "7"]
    mine, own = sorted(tags.split(","), reverse=True)
    assert mine == "month"
    assert own.startswith("millrace-")
    env.from_collection([1]).print()
    env.execute("in this thread")
    assert properties.getLocalProperty("spark.jobGroup.id") == "reports"
    assert set(properties.getJobTags()) == {"month"}
    assert properties.getLocalProperty("millrace.plan") is None


def test_without_a_group_a_job_has_one_of_its_own(properties: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with env.from_collection([1]).map(seen).execute_and_collect() as results:
        [(_, group, *_, tags)] = results
    assert group.startswith("millrace-")
    assert not tags
