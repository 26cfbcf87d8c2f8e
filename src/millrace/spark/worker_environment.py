"""Environment of a Python worker, in which it finds a job's dependencies."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import FileFinder
from threading import Lock

from pyspark import SparkContext
from pyspark.core.files import SparkFiles

VARIABLE = "MILLRACE_DEPENDENCIES"
"""Environment variable of workers of jobs with dependencies, so that these workers serve no other
jobs."""

_CHANGING = Lock()
"""Held while the variables of a Spark context are changed."""


@dataclass(frozen=True, slots=True)
class WorkerEnvironment:
    """Directories of a job's modules and data in a worker, and the interpreter."""

    search: tuple[str, ...] = ()
    """Names of modules' directories and archives below Spark's directory of files."""
    in_files: bool = False
    """Whether Spark's directory of files becomes the working directory, so that functions find
    archives."""
    executable: str | None = None
    """Path of the interpreter; None for the application's."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Names of the archives for functions and in Spark's directory of files; empty if all are
    equal. If they differ, the working directory has links to the archives."""

    def enter(self) -> None:
        """Apply the environment to this process, before the program is loaded."""
        root = _root()
        paths = [os.path.join(root, name) for name in self.search]
        sys.path[:0] = [path for path in paths if path not in sys.path]
        _look_for_new_modules()
        if self.in_files:
            os.chdir(self._links(root) if self.renamed else root)

    def _links(self, root: str) -> str:
        """The directory of links to the archives."""
        name = hashlib.sha256(repr(self.renamed).encode()).hexdigest()[:16]
        directory = os.path.join(root, f"linked-{name}")
        os.makedirs(directory, exist_ok=True)
        for target, shipped in self.renamed:
            with suppress(FileExistsError):  # another worker was quicker
                os.symlink(os.path.join(root, shipped), os.path.join(directory, target))
        # PySpark has named the directory of files by "." where it is the working directory
        sys.path[:] = [os.path.abspath(path) for path in sys.path]
        return directory

    @contextmanager
    def of_functions(self, context: SparkContext) -> Iterator[None]:
        """Context in which PySpark wraps functions so that they run in workers with this
        environment."""
        before = context.pythonExec
        try:
            context.pythonExec = self.executable or before
            if self == WorkerEnvironment():
                yield
                return
            digest = hashlib.sha256(repr(self).encode()).hexdigest()[:16]
            with variable_of_functions(context, VARIABLE, digest):
                yield
        finally:
            context.pythonExec = before


def _look_for_new_modules() -> None:
    """Let imports find modules that have come since the last look. `importlib.invalidate_caches`
    would also read PySpark's archives again, which takes a tenth of a second."""
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[path]
        elif isinstance(finder, FileFinder):
            finder.invalidate_caches()


@contextmanager
def variable_of_functions(context: SparkContext, name: str, value: str) -> Iterator[None]:
    """Context in which functions are wrapped with an environment variable.

    Another thread, such as that of a scan's streaming query, may be handing the context's
    dictionary to the JVM, key after key: so it never changes, another one takes its place.
    """
    with _CHANGING:
        context.environment = {**context.environment, name: value}
    try:
        yield
    finally:
        with _CHANGING:
            kept = context.environment.items()
            context.environment = {key: held for key, held in kept if key != name}


@cache
def _root() -> str:
    """Absolute path of Spark's directory of files, because the working directory changes."""
    return os.path.abspath(SparkFiles.getRootDirectory())
