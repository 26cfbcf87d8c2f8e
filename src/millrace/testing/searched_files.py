"""Python files of jobs that run in this process; on Spark they would be sent to the workers."""

from __future__ import annotations

import importlib
import os
import sys

from millrace.common.config import options
from millrace.common.config.configuration import Configuration

__all__ = ["SearchedFiles"]


class SearchedFiles:
    """Directories that ``python.files`` adds to Python's search path for modules."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._before = set(sys.modules)

    def add(self, configuration: Configuration) -> None:
        """Add a job's files to the search path, after the program's own directory."""
        named = configuration.get(options.PYTHON_FILES) or ""
        for name in filter(None, map(str.strip, named.split(","))):
            path = os.path.abspath(name)
            is_module = path.endswith(".py")
            found = os.path.dirname(path) if is_module else path
            if found not in sys.path:
                sys.path.insert(1, found)
                self._paths.append(found)
        importlib.invalidate_caches()

    def remove(self) -> None:
        """Remove the directories, and unload the modules that jobs have imported from them:
        another job may have modules of the same names."""
        for path in self._paths:
            if path in sys.path:
                sys.path.remove(path)
        inside = tuple(f"{path}{os.sep}" for path in self._paths)
        for name in (sys.modules.keys() - self._before) if inside else ():
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(inside):
                del sys.modules[name]
