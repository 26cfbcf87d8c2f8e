"""Uploaded job files, and job files of a directory that run where they are."""

from __future__ import annotations

import ast
import lzma
import os
import re
import secrets
import shutil
import stat
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millrace.common.installation import install_command
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.server.api_route import ApiError, UploadedFile
from millrace.server.full_disk import full_disk
from millrace.statefun.module import (
    MODULE_SUFFIXES,
    Module,
    is_module,
    module_name,
    read_module,
)
from millrace.statefun.module.located_yaml import ModuleError

__all__ = ["ProgramStore", "StoredProgram", "check_module"]

MAIN = "__main__.py"
MODULES = ("module.yaml", "module.yml")
MOST_FILES, MOST_BYTES = 10_000, 1 << 30
"""Largest number of files in an archive, and their largest total size in bytes."""
MAX_SOURCE = 4 << 20
"""Largest size in bytes of a file whose description is read."""
_ID = re.compile(r"[0-9a-f]{32}_[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError, OSError,
)  # fmt: skip
"""Errors that `zipfile` raises for archives that are damaged, encrypted or of another kind."""


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A job file of the server."""

    id: str
    """File name of an upload; for other programs, the path below the directory of programs."""
    name: str
    path: Path
    """The file, or the directory that an archive was unpacked into."""
    uploaded: int
    """Time of the upload in ms since the Unix epoch; for other programs, time of the last
    change."""

    @property
    def main(self) -> Path:
        """The file that runs. In an archive, this is the main program or the module of Stateful
        Functions."""
        if not self.path.is_dir():
            return self.path
        files = (self.path / name for name in (MAIN, *MODULES))
        return next((file for file in files if file.is_file()), self.path / MAIN)

    def job_name(self, main: Path) -> str | None:
        """Name for a job of a module of Stateful Functions; None for other programs.

        Args:
            main: the file that runs.
        """
        if not is_module(main):
            return None
        is_upload = _ID.fullmatch(self.id) is not None
        return Path(self.name).stem if is_upload else module_name(main)

    def entry(self, name: str | None) -> Path:
        """The file to run if a request names another file than `main`.

        Raises:
            ApiError: 400 if the program has no such file.
        """
        if not name:
            return self.main
        if not self.path.is_dir():
            raise ApiError(400, f"{self.name} is one file: there is no entry {name[:80]!r} in it")
        inside = self.path.resolve()
        path = (inside / name).resolve()
        if not path.is_relative_to(inside) or not path.is_file():
            raise ApiError(400, f"there is no file {name[:200]!r} in {self.name}")
        return path

    def description(self) -> str:
        """The first line of the program's docstring."""
        if is_module(self.main):
            return "Module of Stateful Functions"
        try:
            with self.main.open("rb") as file:
                tree = ast.parse(file.read(MAX_SOURCE))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return ""
        return (ast.get_docstring(tree) or "").partition("\n")[0]


class ProgramStore:
    """The programs of a server.

    Args:
        uploads: directory of the uploaded programs.
        programs: directory of programs that run where they are; None if there is none.
    """

    def __init__(self, uploads: Path, programs: Path | None) -> None:
        self._uploads = uploads
        self._programs = programs

    # -- uploads -----------------------------------------------------------------------------------

    def add(self, upload: UploadedFile) -> StoredProgram:
        """Store an uploaded file.

        Raises:
            ApiError: 400, it is no program.
        """
        stem, kind = os.path.splitext(os.path.basename(upload.name.replace("\\", "/")))
        name = (_NO_NAME.sub("_", stem)[-120:].strip("._-") or "program") + kind
        path = self._uploads / f"{secrets.token_hex(16)}_{name}"
        if name.endswith(".py"):
            _check_source(Path(upload.path), name)
            os.replace(upload.path, path)
        elif is_module(path):
            check_module(Path(upload.path).read_bytes(), name)
            os.replace(upload.path, path)
        elif name.endswith(".zip"):
            _unpack(Path(upload.path), path, name)
        else:
            raise ApiError(
                400, f"a program must be a .py, .zip or .yaml file, not {upload.name[:120]!r}"
            )
        return self._uploaded(path)

    def uploads(self) -> list[StoredProgram]:
        """The uploaded programs, the newest first."""
        try:
            entries = list(os.scandir(self._uploads))
        except FileNotFoundError:
            return []
        programs = [
            self._uploaded(Path(entry.path)) for entry in entries if _ID.fullmatch(entry.name)
        ]
        return sorted(programs, key=lambda program: (program.uploaded, program.id), reverse=True)

    def upload(self, id: str) -> StoredProgram:
        """The uploaded program with the given id.

        Raises:
            ApiError: 404 if there is no such upload.
        """
        path = self._uploads / id
        if not _ID.fullmatch(id) or not path.exists():
            raise ApiError(404, f"there is no program {id[:200]!r}")
        return self._uploaded(path)

    def delete(self, id: str) -> None:
        """Delete an upload; raises the same errors as `upload`."""
        path = self.upload(id).path
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _uploaded(self, path: Path) -> StoredProgram:
        name = path.name.partition("_")[2]
        return StoredProgram(path.name, name, path, int(path.stat().st_mtime * 1_000))

    # -- programs that are there -------------------------------------------------------------------

    def programs(self) -> Iterator[StoredProgram]:
        """The files below the directory of programs, by name."""
        if self._programs is None:
            return
        modules = (
            path for suffix in MODULE_SUFFIXES for path in self._programs.rglob(f"*{suffix}")
        )
        files = [*self._programs.rglob("*.py"), *filter(_has_components, modules)]
        for path in sorted(files):
            if path.is_file() and path.resolve().is_relative_to(self._programs):
                yield self._there(path)

    def program(self, given: str) -> StoredProgram:
        """The program with the given path, absolute or relative to the directory of programs.

        Raises:
            ApiError: 403 if the path is outside the directory of programs; 404 if there is no such
                file.
        """
        if self._programs is None:
            raise ApiError(403, "programs are not run by path: start the server with --programs")
        try:
            path = (self._programs / given).resolve()
            is_file = path.is_file()
        except (OSError, ValueError):
            raise ApiError(400, f"{given[:200]!r} is no path") from None
        if not path.is_relative_to(self._programs):
            raise ApiError(403, f"only programs below {self._programs} are run by their paths")
        if not is_file or not (path.suffix == ".py" or is_module(path)):
            raise ApiError(404, f"there is no job file {given[:200]!r}")
        return self._there(path)

    def _there(self, path: Path) -> StoredProgram:
        assert self._programs is not None
        id = str(path.relative_to(self._programs))
        return StoredProgram(id, path.name, path, int(path.stat().st_mtime * 1_000))


def _has_components(path: Path) -> bool:
    """Whether a YAML file seems to have components of Stateful Functions, at a first look."""
    try:
        with path.open("rb") as file:
            return b"io.statefun." in file.read(MAX_SOURCE)
    except OSError:
        return False


def check_module(content: bytes, name: str) -> Module:
    """The components that a module of Stateful Functions defines.

    Raises:
        ApiError: 400, the module has a fault, or libraries are missing.
    """
    try:
        return read_module(content, name)
    except ModuleError as error:
        raise ApiError(400, str(error)) from None
    except ImportError:
        raise ApiError(400, f"the server lacks libraries: {install_command('statefun')}") from None


def _check_source(path: Path, name: str) -> None:
    try:
        compile(path.read_bytes(), name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ApiError(400, f"{name} is not Python: {error}") from None


def _unpack(archive: Path, to: Path, name: str) -> None:
    """Unpack an archive; its files stay inside the target whatever their names are."""
    directory = to.with_name(f".{to.name}")
    try:
        with zipfile.ZipFile(archive) as opened:
            _check_members(opened.infolist(), name)
            LocalFileSystem().make_directory(str(directory), durable=False)
            opened.extractall(directory)
        _check_modules(directory, name)
        os.utime(directory, (now := time.time(), now))
        directory.rename(to)
    except _UNREADABLE as error:
        if full_disk(error) is not None:
            raise  # it is not the archive
        raise ApiError(400, f"{name} cannot be unpacked: {error}") from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _check_modules(directory: Path, archive: str) -> None:
    """Check the modules of an unpacked archive.

    Raises:
        ApiError: 400, one has a fault, or the archive has nothing that could run.
    """
    modules = [
        path
        for path in sorted(directory.rglob("*"))
        if path.suffix in MODULE_SUFFIXES and path.is_file()
        if path in (directory / name for name in MODULES) or _has_components(path)
    ]
    for module in modules:
        check_module(module.read_bytes(), str(module.relative_to(directory)))
    if not modules and next(directory.rglob("*.py"), None) is None:
        raise ApiError(400, f"{archive} has no Python file and no module of Stateful Functions")


def _check_members(members: list[zipfile.ZipInfo], name: str) -> None:
    if len(members) > MOST_FILES or sum(member.file_size for member in members) > MOST_BYTES:
        raise ApiError(
            400, f"{name} unpacks to more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes"
        )
    if any(stat.S_ISLNK(member.external_attr >> 16) for member in members):
        raise ApiError(400, f"{name} has links in it")
