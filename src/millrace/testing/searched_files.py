"""Python files and archives of jobs that run in this process. On Spark, they would be sent to
the workers."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError

__all__ = ["SearchedFiles", "UnpackedArchives"]

_ZIPS = (".zip", ".jar", ".whl", ".egg")
_TARS = (".tar", ".tar.gz", ".tgz")


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
            entry = os.path.dirname(path) if is_module else path
            if entry not in sys.path:
                sys.path.insert(1, entry)
                self._paths.append(entry)
        importlib.invalidate_caches()

    def remove(self) -> None:
        """Remove the directories, and unload the modules that jobs imported from them, because
        another job may have modules of the same names."""
        for path in self._paths:
            if path in sys.path:
                sys.path.remove(path)
        for name in (sys.modules.keys() - self._before) if self._paths else ():
            file = getattr(sys.modules[name], "__file__", None) or ""
            if any(file.startswith(_beginnings(path, name)) for path in self._paths):
                del sys.modules[name]


def _beginnings(path: str, name: str) -> tuple[str, str]:
    """Beginnings of the file of a module that was found in a directory or zip. Other modules may
    be in a folder of it and were found elsewhere: of them there must not be two."""
    stem = os.path.join(path, *name.split("."))
    return f"{stem}.", os.path.join(stem, "__init__.")


class UnpackedArchives:
    """The directories in which ``python.archives`` are unpacked, one per job."""

    def __init__(self) -> None:
        self._directories: list[TemporaryDirectory[str]] = []

    def unpack(self, configuration: Configuration) -> Path | None:
        """A working directory with the archives of a job; None if the job has no archives.

        Raises:
            ConfigurationError: an archive does not exist, or is no archive.
        """
        named = configuration.get(options.PYTHON_ARCHIVES) or ""
        archives = list(filter(None, map(str.strip, named.split(","))))
        if not archives:
            return None
        made = TemporaryDirectory(prefix="millrace-archives-")
        self._directories.append(made)
        for archive in archives:
            name, _, target = archive.partition("#")
            path = os.path.abspath(name)
            if not os.path.exists(path):
                raise ConfigurationError(
                    f"{path}, given to add_python_archive or python.archives, does not exist"
                )
            _unpack(path, os.path.join(made.name, target or os.path.basename(path)))
        return Path(made.name)

    def remove(self) -> None:
        """Delete the directories."""
        for directory in self._directories:
            directory.cleanup()


def _unpack(path: str, target: str) -> None:
    if path.endswith(_ZIPS):
        shutil.unpack_archive(path, target, "zip")
    elif path.endswith(_TARS):
        with tarfile.open(path) as archive:
            archive.extractall(target, filter="data")
    else:
        raise ConfigurationError(
            f"{path} is not one of the archives that are unpacked: {', '.join(_TARS + _ZIPS)}"
        )
