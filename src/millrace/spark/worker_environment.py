"""Environment of a Python worker, in which it finds the dependencies of a job."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import SparkContext
from pyspark.core.files import SparkFiles

VARIABLE = "MILLRACE_DEPENDENCIES"
"""Set in workers of jobs with dependencies, so that they serve no other jobs."""


@dataclass(frozen=True, slots=True)
class WorkerEnvironment:
    """Where a job's modules and data are in a worker, and which interpreter runs it."""

    search: tuple[str, ...] = ()
    """Names below Spark's directory of files in which modules are looked for."""
    in_files: bool = False
    """Whether the working directory is Spark's directory of files: archives are found there."""
    executable: str | None = None
    """The interpreter; None: the application's."""

    def enter(self) -> None:
        """Make this process such a worker; called before the program is loaded."""
        root = SparkFiles.getRootDirectory()
        paths = [os.path.join(root, name) for name in self.search]
        sys.path[:0] = [path for path in paths if path not in sys.path]
        importlib.invalidate_caches()
        if self.in_files:
            os.chdir(root)

    @contextmanager
    def of_functions(self, context: SparkContext) -> Iterator[None]:
        """Functions that are wrapped within run in such workers."""
        before = context.pythonExec
        if self != WorkerEnvironment():
            context.environment[VARIABLE] = hashlib.sha256(repr(self).encode()).hexdigest()[:16]
        try:
            context.pythonExec = self.executable or before
            yield
        finally:
            context.pythonExec = before
            context.environment.pop(VARIABLE, None)
