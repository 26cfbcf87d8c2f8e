"""Checks of this machine: Java, text encoding, open files, free disk space and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning
from millrace.cli.printing import size_text

if TYPE_CHECKING:
    from millrace.spark.java_version import Java


GIBIBYTE = 1 << 30
DISK, MEMORY = "disk", "memory"


def check_disk(free: Mapping[str, int]) -> Diagnosis:
    """Judge the free bytes of each directory."""
    where, least = min(free.items(), key=lambda pair: pair[1])
    space_text = f"{size_text(least)} free in {where}"
    fix = f"Free space in {where}, or set spark.local.dir and TMPDIR to a larger disk."
    if least < GIBIBYTE // 2:
        return failure(DISK, space_text, fix)
    return ok(DISK, space_text) if least >= 5 * GIBIBYTE else warning(DISK, space_text, fix)


def check_memory(available: Mapping[str, int | None], driver_heap: int) -> Diagnosis:
    """Judge the available bytes of memory of each host.

    Args:
        driver_heap: bytes that the driver's JVM may take, on the first of the hosts.
    """
    known = {where: memory for where, memory in available.items() if memory is not None}
    if not known:
        return ok(MEMORY, "unknown on this system")
    driver = available[next(iter(available))]
    if driver is not None and driver < driver_heap:
        return warning(
            MEMORY,
            f"{size_text(driver)} available for a driver that may take {size_text(driver_heap)}",
            "Lower spark.driver.memory, or end other programs on this machine.",
        )
    where, least = min(known.items(), key=lambda pair: pair[1])
    memory_text = f"{size_text(least)} available ({where})"
    fix = f"Give {where} at least 1 GiB for each Python worker (see Sizing)."
    return ok(MEMORY, memory_text) if least >= GIBIBYTE else warning(MEMORY, memory_text, fix)


JAVA = "Java"


def check_java(java: Java) -> Diagnosis:
    """Judge the driver's Java; executors use the cluster's."""
    problem = java.problem()
    if problem is not None:
        java_text = f"Java {java.version} ({java.path})" if java.path else "none"
        return failure(JAVA, java_text, f"{problem}.")
    if java.version is None:
        fix = "Run 'java -version' and check that the version is 17 or newer."
        return warning(JAVA, f"{java.path} does not show its version", fix)
    return ok(JAVA, f"{java.version} ({java.path})")


CLASS_ARCHIVE = "class archive"


def check_class_archive(options: str, environment: Mapping[str, str]) -> Diagnosis:
    """Judge the options of the JVM.

    Args:
        options: result of `archive_options`.
        environment: environment of this process.
    """
    if "SharedArchiveFile=" in options:
        return ok(CLASS_ARCHIVE, "used")
    if options:
        return ok(CLASS_ARCHIVE, "created when the first job ends")
    if environment.get("MILLRACE_CLASS_ARCHIVE") == "off":
        return ok(CLASS_ARCHIVE, "switched off")
    return warning(
        CLASS_ARCHIVE,
        "there is no directory for it that only this user can write",
        "Set MILLRACE_CLASS_ARCHIVE to such a directory (an absolute path without blanks), "
        "or to 'off'. Spark starts without the archive, but some seconds later.",
    )


OPEN_FILES = "open files"
ENOUGH_FILES = 4096
"""RocksDB and Spark's shuffle keep hundreds of files open per subtask."""
LEAST_FILES = 512
_RAISE_LIMIT = "Raise the limit: 'ulimit -n 65536', or LimitNOFILE=65536 in the systemd unit."


def check_open_files(limits: Mapping[str, int | None]) -> Diagnosis:
    """Judge the limits of open files of processes (None if unknown; -1 if unlimited)."""
    known = {where: limit for where, limit in limits.items() if limit is not None}
    if not known:
        return ok(OPEN_FILES, "this system has no such limit")
    endless = max(known.values()) + ENOUGH_FILES
    where, least = min(known.items(), key=lambda pair: pair[1] if pair[1] >= 0 else endless)
    if least < 0:
        return ok(OPEN_FILES, "no limit")
    limit_text = f"{least:,} ({where})"
    if least < LEAST_FILES:
        return failure(OPEN_FILES, limit_text, _RAISE_LIMIT)
    return (
        ok(OPEN_FILES, limit_text)
        if least >= ENOUGH_FILES
        else warning(OPEN_FILES, limit_text, _RAISE_LIMIT)
    )


ENCODING = "encoding"
_SET_UTF8 = (
    "Set PYTHONUTF8=1 (for workers: spark.executorEnv.PYTHONUTF8=1) or a locale such as C.UTF-8."
)


def check_encoding(encodings: Mapping[str, str]) -> Diagnosis:
    """Judge the text encodings of processes. With encodings other than UTF-8, functions that print
    or open files fail on some texts.

    Args:
        encodings: by process, its encodings of file names and of files, separated by a blank.
    """
    other = {
        where: words
        for where, words in encodings.items()
        if {word.replace("-", "").replace("_", "") for word in words.lower().split()} != {"utf8"}
    }
    if not other:
        return ok(ENCODING, "UTF-8")
    return warning(
        ENCODING, "; ".join(f"{where}: {words}" for where, words in other.items()), _SET_UTF8
    )
