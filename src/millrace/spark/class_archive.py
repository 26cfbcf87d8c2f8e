"""An archive of Spark's loaded Java classes, with which the JVM starts seconds sooner.

Java calls it class data sharing (JEP 310 and 350). The first JVM that ends writes the archive,
every later one maps it into memory. Java itself checks that archive, class path and version fit,
and goes on without it otherwise.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import pyspark

SWITCH = "MILLRACE_CLASS_ARCHIVE"
"""Environment variable: "off" disables the archive, and an absolute path is its directory instead
of the user's cache."""
OWN_OPTIONS = "spark.driver.defaultJavaOptions"
"""Setting for Millrace's own options of the JVM, which come before those of the user. Were they in
``spark.driver.extraJavaOptions``, they would replace what ``spark-defaults.conf`` has there."""
_QUIET = "-Xlog:cds*=off -Xshare:auto"


def archive_options(environment: Mapping[str, str] = os.environ) -> str:
    """JVM options that use the archive, or that write it if there is none. Empty if the archive is
    disabled, if Java is missing, or if other users could write its directory.
    """
    java = _java(environment)
    if environment.get(SWITCH) == "off" or java is None:
        return ""
    directory = _directory(environment)
    if directory is None:
        return ""
    archive = directory / f"spark-{_fingerprint(java, environment)}.jsa"
    use = "SharedArchiveFile" if archive.exists() else "ArchiveClassesAtExit"
    return f"-XX:{use}={archive} {_QUIET}"


def with_archive(settings: Mapping[str, str]) -> dict[str, str]:
    """Spark settings with which the driver's JVM uses the archive."""
    options = " ".join(filter(None, [archive_options(), settings.get(OWN_OPTIONS, "")]))
    return {**settings, OWN_OPTIONS: options} if options else dict(settings)


def _java(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java")
    return Path(path).resolve() if path and os.path.exists(path) else None


def _directory(environment: Mapping[str, str]) -> Path | None:
    """The configured directory or ``$XDG_CACHE_HOME/millrace``, private to this user, because
    its content is run as code."""
    try:
        base, named = Path(environment.get("XDG_CACHE_HOME", "")), Path(environment.get(SWITCH, ""))
        # a relative path is to be ignored (XDG Base Directory Specification)
        home = (base if base.is_absolute() else Path.home() / ".cache") / "millrace"
        directory = named if named.is_absolute() else home
        # options are split at blanks
        if " " in str(directory):
            return None
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except (OSError, RuntimeError):  # there may be no home directory
        return None
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return None if others_write or status.st_uid != os.getuid() else directory


def _fingerprint(java: Path, environment: Mapping[str, str]) -> str:
    """Digest of the installed Java and Spark; a new version of either changes it."""
    spark = environment.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    parts = [str(java), str(java.stat().st_mtime_ns), pyspark.__version__, spark]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
