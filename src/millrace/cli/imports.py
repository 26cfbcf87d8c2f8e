"""Import paths of workers for the modules in the directory of a job file and the modules of
``--py-files``."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from millrace.cli.arguments import UsageError


def is_local(master: str | None) -> bool:
    """Whether all workers are children of this process."""
    return master is None or master == "local" or master.startswith("local[")


def add_import_paths(job: Path, py_files: Sequence[Path]) -> list[str]:
    """Let this process import the modules in the directory of the job file and in ``py_files``;
    return the new entries of ``sys.path``."""
    paths = [job.resolve().parent, *map(_entry, py_files)]
    entries = list(dict.fromkeys(map(str, paths)))
    sys.path[:0] = entries
    return entries


def inherit_import_paths(entries: Sequence[str]) -> None:
    """Let processes that start later import from ``entries``, too."""
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*entries, *([inherited] if inherited else [])])


def _entry(py_file: Path) -> Path:
    resolved = py_file.resolve()
    return resolved.parent if resolved.suffix == ".py" else resolved


def archive_siblings(file: Path, archive: Path) -> bool:
    """Put the modules and packages in the directory of a Python file into a zip file; False if
    there are none.

    Only ``.py`` files: data belongs into an archive of ``--py-files``.
    """
    directory = file.resolve().parent
    modules = [path for path in sibling_modules(directory) if path != file.resolve()]
    if not modules:
        return False
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for module in modules:
            out.write(module, module.relative_to(directory))
    return True


def modules_of(file: Path, py_files: Sequence[Path]) -> dict[str, Path]:
    """A Python file, the modules and packages in its directory, and the modules of ``--py-files``.
    Each comes with its path relative to its directory.

    Raises:
        UsageError: two files have one name, so that only one of them would be imported.
    """
    beside = file.resolve().parent
    modules = {path.relative_to(beside).as_posix(): path for path in sibling_modules(beside)}
    modules[file.name] = file.resolve()
    for path in py_files:
        other = modules.setdefault(path.name, path) if path.suffix == ".py" else path
        if other.resolve() != path.resolve():
            raise UsageError(
                f"--py-files: {path} has the name of {other}, and only one of them would be "
                "imported: rename one of them"
            )
    return modules


def sibling_modules(directory: Path) -> Iterator[Path]:
    """The ``.py`` files of a directory and of the packages in it."""
    yield from sorted(directory.glob("*.py"))
    for package in sorted(directory.glob("*/__init__.py")):
        yield from sorted(package.parent.rglob("*.py"))
