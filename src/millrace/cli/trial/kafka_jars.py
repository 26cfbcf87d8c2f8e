"""Kafka's jars: from an installation on this machine, or from Maven Central."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.request import urlopen

from millrace.common.errors import MillraceError

__all__ = ["VERSION", "KafkaJars", "TrialError", "download", "downloaded_jars", "installed_jars"]

VERSION = "4.1.0"
KAFKA_HOME = "KAFKA_HOME"
REPOSITORY = "MILLRACE_MAVEN_REPOSITORY"
CENTRAL = "https://repo.maven.apache.org/maven2"
_LIST = Path(__file__).with_name(f"kafka-{VERSION}.txt")
_STARTERS = ("kafka-server-start.sh", "kafka-server-start")
_ANSWER_S = 30.0
"""Seconds in which a repository must begin to answer, and in which each piece must follow."""
_AT_ONCE = 6
_PIECE = 1 << 18


class TrialError(MillraceError):
    """A server for trying out cannot be downloaded or started."""


@dataclass(frozen=True, slots=True)
class KafkaJars:
    """A Kafka installation that can be started.

    Args:
        directory: directory of the jars.
        origin: where they come from, for people.
    """

    directory: Path
    origin: str

    @property
    def classpath(self) -> str:
        """Argument of ``java -cp``."""
        return str(self.directory / "*")


@dataclass(frozen=True, slots=True)
class _Jar:
    path: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def installed_jars(environment: Mapping[str, str] = os.environ) -> KafkaJars | None:
    """The Kafka in ``KAFKA_HOME``, or the one whose scripts are on the path; None if there is
    neither.

    Raises:
        TrialError: ``KAFKA_HOME`` names no Kafka.
    """
    home = environment.get(KAFKA_HOME)
    if home:
        libraries = Path(home) / "libs"
        if not _is_kafka(libraries):
            raise TrialError(
                f"{KAFKA_HOME} is {home!r}, but {libraries} has no jar of Kafka's broker. "
                f"Set {KAFKA_HOME} to the directory of a Kafka installation, or unset it: "
                f"then Kafka {VERSION} is downloaded"
            )
        return KafkaJars(libraries, f"{KAFKA_HOME}, {home}")
    for name in _STARTERS:
        script = shutil.which(name, path=environment.get("PATH", ""))
        if script is not None:
            root = Path(script).resolve().parent.parent
            for libraries in (root / "libs", root / "libexec" / "libs"):
                if _is_kafka(libraries):
                    return KafkaJars(libraries, script)
    return None


def downloaded_jars(environment: Mapping[str, str] = os.environ) -> KafkaJars:
    """The directory for Kafka's jars in the user's cache, which `download` fills."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = Path(environment.get("HOME") or os.path.expanduser("~"), ".cache")
    directory = base / "millrace" / f"kafka-{VERSION}"
    return KafkaJars(directory, str(directory))


def download(
    jars: KafkaJars,
    progress: Callable[[int, int], None],
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Fetch the jars that are missing or damaged, each with its checksum.

    A jar in the user's own Maven repository is copied. The others come from Maven Central, or from
    the mirror that ``MILLRACE_MAVEN_REPOSITORY`` names.

    Args:
        progress: called with the number of bytes that are there, and the number of all.

    Raises:
        TrialError: a jar cannot be had, or has another checksum.
    """
    # what is in it is run as code
    jars.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    repository = environment.get(REPOSITORY, CENTRAL).rstrip("/")
    own = Path(environment.get("HOME") or os.path.expanduser("~"), ".m2", "repository")
    wanted = list(_listed())
    total = sum(jar.size for jar in wanted)
    missing = [jar for jar in wanted if not _is_intact(jars.directory / jar.name, jar)]
    ready = total - sum(jar.size for jar in missing)
    with ThreadPoolExecutor(_AT_ONCE, "kafka-jars") as pool:
        fetched = pool.map(lambda jar: _fetch(jar, jars.directory, repository, own), missing)
        for size in fetched:
            ready += size
            progress(ready, total)


def _fetch(jar: _Jar, directory: Path, repository: str, own: Path) -> int:
    if _is_intact(own / jar.path, jar):
        with (own / jar.path).open("rb") as source:
            _write(source, directory / jar.name)
        return jar.size
    url = f"{repository}/{jar.path}"
    try:
        with urlopen(url, timeout=_ANSWER_S) as answer:
            checksum = _write(answer, directory / jar.name, jar)
    except (OSError, ValueError, HTTPException) as error:  # of the network, HTTP, or the address
        raise TrialError(
            f"{url} cannot be downloaded: {error}. Set {REPOSITORY} to a mirror of Maven "
            f"Central that this machine reaches, or {KAFKA_HOME} to a local Kafka "
            "installation"
        ) from error
    if checksum != jar.sha256:
        raise TrialError(
            f"{url} has the SHA-256 {checksum} instead of {jar.sha256}: it is another file, "
            "and is discarded"
        )
    return jar.size


def _write(source: IO[bytes], path: Path, jar: _Jar | None = None) -> str:
    """Copy a source into a file, which appears as a whole and only with the right checksum.

    Returns:
        The checksum of the source.
    """
    digest = hashlib.sha256()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(handle, "wb") as target:
            while piece := source.read(_PIECE):
                digest.update(piece)
                target.write(piece)
        if jar is None or digest.hexdigest() == jar.sha256:
            os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return digest.hexdigest()


def _is_intact(path: Path, jar: _Jar) -> bool:
    try:
        if path.stat().st_size != jar.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except OSError:
        return False


def _is_kafka(libraries: Path) -> bool:
    return any(libraries.glob("kafka_2*.jar"))


def _listed() -> Iterator[_Jar]:
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            path, checksum, size = line.split()
            yield _Jar(path, checksum, int(size))
