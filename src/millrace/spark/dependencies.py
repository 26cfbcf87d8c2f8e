"""Shipping of dependencies to Spark: Python files, archives, packages, an interpreter, jars.

They are named in the configuration under Flink's keys (Flink docs, "Python Dependency Management"),
which the methods of the environment set. Jars are settings of the Spark application; the rest is
added to it for each job.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.core.files import SparkFiles
from pyspark.errors import PySparkException

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.spark.worker_environment import WorkerEnvironment
from millrace.spark.worker_start import interpreter_for
from millrace.state.backend.scratch_directory import make_scratch_directory

JARS = "spark.jars"
CLASSPATHS = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
_PIP_LINES = 5
"""Number of pip's last lines that are shown when it fails."""
_ARCHIVES = (".zip", ".jar", ".tar", ".tar.gz", ".tgz")
_ZIPS = (".whl", ".egg")

_made: dict[str, str] = {}
"""Directories of archives that this process made; Spark reads them as long as it runs."""
_unpacked: dict[str, str] = {}
"""Digest of the first archive that was unpacked under each name."""
_searched: dict[str, str] = {}
"""Path at which this process finds each file of modules, by its name."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of a job, as its configuration names them."""

    files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    """Archives as ``path`` or ``path#target``."""
    requirements: str | None = None
    """Requirements file as ``file`` or ``file#directory of packages``."""
    executable: str | None = None
    jars: tuple[str, ...] = ()
    classpaths: tuple[str, ...] = ()

    @staticmethod
    def of(configuration: Configuration) -> Dependencies:
        """Read the dependencies from the configuration."""
        jars: list[str] = configuration.get(options.JARS)
        classpaths: list[str] = configuration.get(options.CLASSPATHS)
        return Dependencies(
            _texts(configuration.get(options.PYTHON_FILES)),
            _texts(configuration.get(options.PYTHON_ARCHIVES)),
            configuration.get(options.PYTHON_REQUIREMENTS),
            configuration.get(options.PYTHON_EXECUTABLE),
            tuple(map(_jar, jars)),
            tuple(map(_jar, classpaths)),
        )

    def add_to(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Spark settings with the job's jars and class paths added."""
        merged = dict(settings)
        _append(merged, JARS, ",", self.jars)
        for key in CLASSPATHS:
            _append(merged, key, os.pathsep, tuple(map(_path, self.classpaths)))
        return merged

    def require_jars(self, context: SparkContext) -> None:
        """Raise ConfigurationError if the running application lacks one of the jars or class
        paths."""
        conf = context.getConf()
        present = {_path(jar) for jar in conf.get(JARS, "").split(",")}
        for key in CLASSPATHS:
            present.update(conf.get(key, "").split(os.pathsep))
        for jar in (*self.jars, *self.classpaths):
            if _path(jar) not in present:
                raise ConfigurationError(
                    f"{jar} is not among the jars that Spark was started with, and Spark "
                    "accepts no jars later: call add_jars and add_classpaths before the "
                    "first job of the program, or set pipeline.jars when it is started "
                    "(millrace run -D pipeline.jars=...)"
                )

    def add_to_class_loader(self, context: SparkContext) -> None:
        """Add the jars to the class loader of the driver's JVM, which may have started without
        them."""
        jvm: Any = context._jvm
        loader = jvm.Thread.currentThread().getContextClassLoader()
        for jar in (*self.jars, *self.classpaths):
            loader.addURL(jvm.java.io.File(_path(jar)).toURI().toURL())

    def ship(self, context: SparkContext) -> WorkerEnvironment:
        """Ship all dependencies except jars to the running application; returns the environment in
        which workers find the shipped files.

        Raises:
            ConfigurationError: a file is missing, or packages cannot be installed.
        """
        names: list[str] = []
        try:
            names += [_ship_file(context, file) for file in _last_of_a_name(self.files)]
            archives = dict(_ship_archive(context, archive) for archive in self.archives)
            if self.requirements is not None:
                names.append(_ship_packages(context, self.requirements))
        except (Py4JError, PySparkException) as error:
            raise ConfigurationError(f"Spark does not take a dependency: {error}") from error
        executable = self._executable(context, archives)
        renamed = any(target != shipped for target, shipped in archives.items())
        links = tuple(archives.items()) if renamed else ()
        return WorkerEnvironment(tuple(names), bool(archives), executable, links)

    def _executable(self, context: SparkContext, archives: Mapping[str, str]) -> str | None:
        """Path of the interpreter; one inside an archive is in the unpacked archive."""
        if self.executable is None:
            return interpreter_for(context)
        first, *others = Path(self.executable).parts
        if first not in archives:
            return self.executable
        local = str(context.master).startswith("local")
        root = SparkFiles.getRootDirectory() if local else "."
        return os.path.join(root, archives[first], *others)


def _texts(value: str | None) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, (value or "").split(","))))


def _last_of_a_name(files: Sequence[str]) -> list[str]:
    """The files, of which only the last with each name stays: a session adds a module again after
    an edit, or from another place. All directories stay, because each is searched.

    Example:
        >>> _last_of_a_name(["a/lib.py", "b/other.py", "c/lib.py"])
        ['b/other.py', 'c/lib.py']
    """
    last = {os.path.basename(file): file for file in files}
    kept = {file for file in files if os.path.isdir(_path(file))} | set(last.values())
    return [file for file in dict.fromkeys(files) if file in kept]


def _ship_file(context: SparkContext, file: str) -> str:
    """Ship a file; return its name below Spark's directory of files.

    Spark takes one file of a name in all its time, and never looks at it again. So what is shipped
    is named after its content: jobs that bring other content have workers of their own.
    """
    path = _existing(file, "add_python_file", "python.files")
    if os.path.isdir(path):
        return _ship_directory(context, path, f"files-{_content_digest(path)}")
    name, target = os.path.basename(path), f"files-{_content_digest(path)}"
    directory = os.path.join(_directory(target), "files")
    if not os.path.exists(os.path.join(directory, name)):
        os.makedirs(directory, exist_ok=True)
        shutil.copy(path, directory)
    is_archive = path.endswith((*_ZIPS, ".zip"))
    _search_here(name, os.path.join(directory, name) if is_archive else directory)
    shipped = _ship_directory(context, directory, target)
    return f"{shipped}/{name}" if is_archive else shipped


def _search_here(name: str, path: str) -> None:
    """Let this process import the modules, too: it unpickles values of the workers' functions."""
    before = _searched.get(name)
    if before == path and path in sys.path:
        return
    if before in sys.path:
        sys.path.remove(before)
    _searched[name] = path
    sys.path.insert(1, path)  # as Spark does; the program's own directory goes first
    importlib.invalidate_caches()


def _ship_archive(context: SparkContext, archive: str) -> tuple[str, str]:
    """Ship an archive; return the name of its directory for functions, and the name of the
    directory that Spark unpacks it to. The names differ if an earlier archive with other content
    had the first name, because running jobs may use that archive."""
    name, _, target = archive.partition("#")
    path = _existing(name, "add_python_archive", "python.archives")
    target = target or os.path.basename(path)
    if path.endswith(_ZIPS):
        path = shutil.copy(path, os.path.join(_directory(path), f"{_digest(path)}.zip"))
    elif not path.endswith(_ARCHIVES):
        raise ConfigurationError(
            f"{path} is not one of the archives that Spark unpacks: {', '.join(_ARCHIVES + _ZIPS)}"
        )
    digest = _content_digest(path)
    shipped = target if _unpacked.setdefault(target, digest) == digest else f"archive-{digest}"
    if shipped != target:  # nor does Spark take two files of a name
        suffix = next(suffix for suffix in _ARCHIVES if path.endswith(suffix))
        path = shutil.copy(path, os.path.join(_directory(shipped), f"{shipped}{suffix}"))
    context.addArchive(f"{path}#{shipped}")
    return target, shipped


def _ship_directory(context: SparkContext, directory: str, target: str) -> str:
    """Ship a directory under the name ``target``, which no other content uses."""
    made = os.path.join(_directory(directory), target)
    if not os.path.exists(f"{made}.zip"):
        shutil.make_archive(made, "zip", directory)
    context.addArchive(f"{made}.zip#{target}")
    return target


def _ship_packages(context: SparkContext, requirements: str) -> str:
    """Install packages here and ship them unpacked, because libraries cannot be loaded from a
    zip."""
    file, _, cache = requirements.partition("#")
    path = _existing(file, "set_python_requirements", "python.requirements")
    text = Path(path).read_text(encoding="utf-8")
    target = f"packages-{hashlib.sha256((cache + text).encode()).hexdigest()[:16]}"
    known = target in _made
    directory = os.path.join(_directory(target), "installed")
    if not known:
        _install(path, cache, directory)
    return _ship_directory(context, directory, target)


def _install(requirements: str, cache: str, directory: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", directory]
    if cache:
        packages = _existing(cache, "set_python_requirements", "python.requirements")
        command += ["--no-index", "--find-links", packages]
    done = subprocess.run(
        [*command, "-r", requirements], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-_PIP_LINES:])
        raise ConfigurationError(
            f"the packages of {requirements} cannot be installed for the workers; pip says:\n{last}"
        )


def _existing(path: str, method: str, key: str) -> str:
    absolute = os.path.abspath(_path(path))
    if not os.path.exists(absolute):
        raise ConfigurationError(f"{absolute}, given to {method} or {key}, does not exist")
    return absolute


def _directory(owner: str) -> str:
    """A directory that lasts as long as this process."""
    if owner not in _made:
        directory = make_scratch_directory()
        atexit.register(directory.remove)
        _made[owner] = str(directory.path)
    return _made[owner]


def _content_digest(path: str) -> str:
    """Digest of a file's name and content, or of everything below a directory."""
    digest = hashlib.sha256()
    below = [path]
    if os.path.isdir(path):
        below = sorted(str(file) for file in Path(path).rglob("*") if _is_shipped(file))
    for file in below:
        name = os.path.relpath(file, os.path.dirname(path)).encode()
        digest.update(len(name).to_bytes(8, "big") + name)
        with open(file, "rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:16]


def _is_shipped(file: Path) -> bool:
    # what Python has compiled differs from run to run
    return file.is_file() and file.suffix != ".pyc"


def _digest(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]


def _jar(path: str) -> str:
    """Absolute path of a jar on this machine; a URI with another scheme unchanged."""
    local = _path(path)
    if "://" in local:
        return local
    return _existing(local, "add_jars or add_classpaths", "pipeline.jars")


def _path(path: str) -> str:
    """The path in a ``file:`` URI."""
    for prefix in ("file://", "file:"):
        if path.startswith(prefix):
            return path[len(prefix) :]
    return path


def _append(settings: dict[str, str], key: str, separator: str, more: tuple[str, ...]) -> None:
    named = [settings[key]] if settings.get(key) else []
    if more:
        settings[key] = separator.join([*named, *more])
