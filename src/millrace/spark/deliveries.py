"""Delivery of DataFrame partitions to the source tasks of an epoch."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext, TaskContext

from millrace.common.source import BatchDelivery, Lane
from millrace.runtime.buffer import delivered_to
from millrace.runtime.epoch import EpochPlan
from millrace.spark.feeds import feed_of
from millrace.spark.slots import JavaObject, SlottedStage
from millrace.spark.worker_environment import WorkerEnvironment

__all__ = ["Deliveries"]

_TARGET = struct.Struct(">q")
_SLOT = -1
"""Slot of the workers that label partitions, which have no subtasks."""


@dataclass(frozen=True)
class _Labels:
    """The lane that gets each partition of a batch."""

    stage: int
    subtasks: tuple[int, ...]
    """Subtask of each lane."""
    width: int
    """Number of tasks of the widest level."""
    partitions: tuple[int, ...]


class LabelTask:
    """Function of a Python RDD that marks each Arrow message with the task of its lane."""

    def __init__(self, labels: _Labels) -> None:
        self._labels = labels

    def __call__(self, split: int, elements: Iterable[Any]) -> Iterator[bytes]:
        """Alternating targets and buffers, as a shuffle takes them."""
        context = TaskContext.get()
        assert context is not None
        labels, attempt = self._labels, context.taskAttemptId()
        partition = labels.partitions[split]
        lane = partition % len(labels.subtasks)
        subtask = labels.subtasks[lane]
        target = _TARGET.pack(subtask % labels.width)
        for number, message in enumerate(elements):
            yield target
            yield delivered_to(
                subtask, labels.stage, lane, partition, attempt, number, message
            ).pack()


class Deliveries:
    """Finds the batches that an epoch's plan delivers.

    Args:
        environment: environment in which workers find the job's dependencies.
    """

    def __init__(self, context: SparkContext, environment: WorkerEnvironment) -> None:
        self._context = context
        self._environment = environment
        self._stages: dict[_Labels, SlottedStage] = {}

    def of(self, plan: EpochPlan, width: int) -> list[JavaObject]:
        """JavaRDDs in which targets and buffers alternate, for a number of tasks; empty if nothing
        is delivered.
        """
        rdds: list[JavaObject] = []
        for stage, event in _events(plan).items():
            feed = feed_of(event.feed)
            if feed is None:
                continue
            feed.delivered = event.batch
            if event.partitions:
                labels = _Labels(stage, _lanes(plan, stage), width, event.partitions)
                rdds.append(self._stage(labels).over(feed.batches[event.batch]))
        return rdds

    def _stage(self, labels: _Labels) -> SlottedStage:
        """The stage that labels a batch's partitions. Stages are cached, because consecutive
        batches usually need the same one."""
        if labels not in self._stages:
            self._stages = dict(list(self._stages.items())[-7:])
            chosen = {_SLOT: labels.partitions}
            self._stages[labels] = SlottedStage(
                self._context, chosen, lambda _: LabelTask(labels), self._environment
            )
        return self._stages[labels]


def _events(plan: EpochPlan) -> dict[int, BatchDelivery]:
    """The delivered batch of each stage."""
    return {
        stage: event
        for (stage, _), subtask in plan.subtasks.items()
        for event in subtask.source_events
        if isinstance(event, BatchDelivery)
    }


def _lanes(plan: EpochPlan, stage: int) -> tuple[int, ...]:
    """The subtask of each lane of a stage."""
    subtasks = {
        part.split.number: index
        for (owner, index), subtask in plan.subtasks.items()
        if owner == stage
        for part in subtask.splits
        if isinstance(part.split, Lane)
    }
    return tuple(subtasks[number] for number in range(len(subtasks)))
