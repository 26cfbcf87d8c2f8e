"""Spark's local properties, copied from the thread that starts a job to the thread that runs it.

They are a property of JVM threads: scheduler pool, job group, description, tags and what users
set. PySpark: `pyspark.InheritableThread`; Spark docs, "Job Scheduling".
"""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext

__all__ = ["LocalProperties"]

_GROUP = "spark.jobGroup.id"


class LocalProperties:
    """The properties of the current thread."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._properties: Any = self._scala_context.getLocalProperties().clone()

    @property
    def group(self) -> str | None:
        """The job group, if there is one."""
        group: str | None = self._properties.getProperty(_GROUP)
        return group

    def apply(self, name: str | None = None) -> None:
        """Replace all properties of the current thread by the properties of this object. ``name``
        becomes the job group of the thread's Spark jobs. If the properties already have a group, it
        becomes a tag.
        """
        self._scala_context.setLocalProperties(self._properties.clone())
        if name is None:
            return
        if self.group is None:
            self._context.setLocalProperty(_GROUP, name)
        else:
            self._context.addJobTag(name)

    def cancel(self, name: str) -> None:
        """Cancel the Spark jobs of the threads that carry a name, and no other Spark jobs of the
        group.
        """
        if self.group is None:
            self._context.cancelJobGroup(name)
        else:
            self._context.cancelJobsWithTag(name)

    @property
    def _scala_context(self) -> Any:
        return self._context._jsc.sc()
