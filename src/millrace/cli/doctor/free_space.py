"""Checks free disk space and memory."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning
from millrace.cli.printing import size_text

GIBIBYTE = 1 << 30
DISK, MEMORY = "disk", "memory"


def check_disk(free: Mapping[str, int]) -> Diagnosis:
    """Judge the free bytes of each directory."""
    where, least = min(free.items(), key=lambda pair: pair[1])
    found = f"{size_text(least)} free in {where}"
    fix = f"Free space in {where}, or set spark.local.dir and TMPDIR to a larger disk."
    if least < GIBIBYTE // 2:
        return failure(DISK, found, fix)
    return ok(DISK, found) if least >= 5 * GIBIBYTE else warning(DISK, found, fix)


def check_memory(available: Mapping[str, int | None], driver_heap: int) -> Diagnosis:
    """Judge the available bytes of memory of each host.

    Args:
        driver_heap: bytes that the driver's JVM may take, on the first of the hosts.
    """
    known = {where: memory for where, memory in available.items() if memory is not None}
    if not known:
        return ok(MEMORY, "it cannot be told here")
    driver = available[next(iter(available))]
    if driver is not None and driver < driver_heap:
        return warning(
            MEMORY,
            f"{size_text(driver)} available for a driver that may take {size_text(driver_heap)}",
            "Lower spark.driver.memory, or end other programs on this machine.",
        )
    where, least = min(known.items(), key=lambda pair: pair[1])
    found = f"{size_text(least)} available ({where})"
    fix = f"Give {where} at least 1 GiB for each Python worker (see Sizing)."
    return ok(MEMORY, found) if least >= GIBIBYTE else warning(MEMORY, found, fix)
