"""Facts about a Python worker, as plain values.

Shipped by value: a worker may have no Millrace, or another one, which is what is to be found out.
So this module imports only Python's own modules, and what it looks for within functions.
"""

from __future__ import annotations

import importlib
import locale
import os
import platform
import shutil
import socket
import sys
import tempfile
import time
from typing import Any

PACKAGES = ("millrace", "pyspark", "pyarrow", "numpy", "msgspec", "cloudpickle")


def worker_facts(
    search: tuple[str, ...], in_files: bool, place: str | None, stores: Any
) -> dict[str, Any]:
    """All facts about this process, including its result in the storage trial.

    Args:
        search: names below Spark's directory of files in which modules are looked for.
        in_files: whether the working directory is that directory.
        place: directory of the trial; None if there is no trial.
        stores: addresses of object stores, as arguments of `FileSystemSettings`.
    """
    _enter(search, in_files)
    name = f"worker-{socket.gethostname()}-{os.getpid()}"
    return {
        "host": _host(),
        **process_facts(),
        "trial_name": name,
        "trial_error": _trial(place, name, stores) if place is not None else None,
    }


def process_facts() -> dict[str, Any]:
    """Facts that any process has, including the driver."""
    return {
        "pid": os.getpid(),
        "executable": sys.executable,
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
        "encoding": f"{sys.getfilesystemencoding()} {locale.getpreferredencoding(False)}".lower(),
        "open_files": _open_files(),
        "memory": _available_memory(),
        "scratch": tempfile.gettempdir(),
        "disk": shutil.disk_usage(tempfile.gettempdir()).free,
    }


def worker_clock() -> tuple[str, float]:
    """The worker's host and its clock, in seconds since the Unix epoch."""
    return _host(), time.time()


def _enter(search: tuple[str, ...], in_files: bool) -> None:
    from pyspark.core.files import SparkFiles

    root = SparkFiles.getRootDirectory()
    paths = [os.path.join(root, name) for name in search]
    sys.path[:0] = [path for path in paths if path not in sys.path]
    importlib.invalidate_caches()
    if in_files:
        os.chdir(root)


def _host() -> str:
    from pyspark import BarrierTaskContext, TaskContext

    context = TaskContext.get()
    if isinstance(context, BarrierTaskContext):
        address = context.getTaskInfos()[context.partitionId()].address
        return str(address.rpartition(":")[0])
    return socket.gethostname()


def _version(package: str) -> str:
    """Version of a package that can be imported; otherwise the error of its import."""
    try:
        return str(importlib.import_module(package).__version__)
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]


def _trial(place: str, name: str, stores: Any) -> str | None:
    """Problem with the storage here; None if there is none."""
    try:
        from millrace.filesystem.settings import FileSystemSettings, use_settings
        from millrace.filesystem.trial import StorageTrial
    except ImportError as error:
        return f"Millrace cannot be imported: {error}"
    use_settings(FileSystemSettings(**stores))
    try:
        StorageTrial(place).take_part(name)
    except Exception as error:  # libraries of object stores have errors of their own
        return f"{error}".partition("\n")[0] or type(error).__name__
    return None


def _open_files() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    return int(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _available_memory() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None
