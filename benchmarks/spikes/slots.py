"""What Spark does when a job of tasks that stay needs more slots than are free.

Shows on `local[2]`: the error for a barrier stage of more tasks than there are slots, what a
barrier stage and an ordinary job do while another job holds a slot, and three ways to count free
slots, with their costs and how late they learn of a task.

    python benchmarks/spikes/slots.py
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from pyspark import SparkConf, SparkContext


def sleep(seconds: float) -> Callable[[Iterable[int]], Iterable[int]]:
    """A task that holds its slot."""

    def task(_: Iterable[int]) -> Iterable[int]:
        time.sleep(seconds)
        return ()

    return task


def in_background(run: Callable[[], Any]) -> threading.Thread:
    """A thread that runs a job."""
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def busy_in_status_store(context: SparkContext) -> tuple[int, int]:
    """Running tasks and slots, by what Spark's own pages show (no public interface in Python)."""
    executors = context._jsc.sc().statusStore().executorList(True)
    entries = [executors.apply(place) for place in range(executors.size())]
    return sum(e.activeTasks() for e in entries), sum(e.maxTasks() for e in entries)


def busy_in_status_tracker(context: SparkContext) -> tuple[int, int]:
    """Running tasks by the public status tracker; slots by the default parallelism."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    stages = {stage for job in jobs if job for stage in job.stageIds}
    infos = [tracker.getStageInfo(stage) for stage in stages]
    return sum(info.numActiveTasks for info in infos if info), context.defaultParallelism


def busy_in_scheduler(context: SparkContext) -> tuple[int, int]:
    """Running tasks and slots as the scheduler itself counts them (no public interface)."""
    spark = context._jsc.sc()
    running = spark.taskScheduler().runningTasksByExecutors().values().iterator()
    busy = 0
    while running.hasNext():
        busy += running.next()
    profile = spark.resourceProfileManager().defaultResourceProfile()
    return busy, spark.maxNumConcurrentTasks(profile)


def too_many(context: SparkContext) -> None:
    """More tasks than slots."""
    start = time.monotonic()
    try:
        context.parallelize(range(3), 3).barrier().mapPartitions(sleep(0)).collect()
    except Exception as error:
        line = next(line for line in str(error).splitlines() if "arrier" in line)
        print(f"3 barrier tasks on 2 slots: error after {time.monotonic() - start:.1f} s: {line}")


def held(context: SparkContext, barrier: bool) -> None:
    """As many tasks as slots, one of which another job holds for 6 s."""
    holder = in_background(lambda: context.parallelize([0], 1).mapPartitions(sleep(6)).collect())
    time.sleep(1)
    rows = context.parallelize(range(2), 2)
    start = time.monotonic()
    stages = rows.barrier() if barrier else rows
    waiting = in_background(lambda: stages.mapPartitions(sleep(1)).collect())
    time.sleep(2)
    kind = "barrier" if barrier else "plain"
    print(f"{kind}, 1 slot held: busy and slots after 2 s {busy_in_scheduler(context)}")
    before = time.monotonic()
    context.parallelize([0], 1).mapPartitions(sleep(0)).collect()
    print(f"{kind}: a third job of one task takes {time.monotonic() - before:.1f} s meanwhile")
    waiting.join()
    print(f"{kind}: ends after {time.monotonic() - start:.1f} s")
    holder.join()


def count(context: SparkContext, way: Callable[[SparkContext], tuple[int, int]]) -> None:
    """Cost of a way to count, and how late it learns of a task."""
    costs, late = [], []
    for _ in range(10):
        before = way(context)[0]
        start = time.monotonic()
        job = in_background(lambda: context.parallelize([0], 1).mapPartitions(sleep(0.4)).collect())
        while way(context)[0] <= before and time.monotonic() < start + 2:
            time.sleep(0.002)
        late.append(time.monotonic() - start)
        for _ in range(5):
            asked = time.monotonic()
            answer = way(context)
            costs.append(time.monotonic() - asked)
        job.join()
        time.sleep(0.2)
    print(f"{way.__name__}: {answer}, {1000 * statistics.median(costs):.1f} ms a call")
    print(f"  learns after {1000 * statistics.median(late):.0f} ms (max {1000 * max(late):.0f})")


def main() -> None:
    """Print what was seen."""
    conf = SparkConf().setMaster("local[2]").setAppName("slots")
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    # the defaults, 15 s and 40 times, take ten minutes
    conf.set("spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "1s")
    conf.set("spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures", "3")
    context = SparkContext(conf=conf)
    context.parallelize(range(2), 2).mapPartitions(sleep(0)).collect()
    too_many(context)
    held(context, barrier=True)
    held(context, barrier=False)
    for way in (busy_in_status_store, busy_in_status_tracker, busy_in_scheduler):
        count(context, way)
    context.stop()


if __name__ == "__main__":
    main()
