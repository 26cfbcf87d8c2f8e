"""Checks the limit of open files."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning

CHECK = "open files"
ENOUGH = 4096
"""RocksDB and Spark's shuffle keep hundreds of files open per subtask."""
LEAST = 512
_FIX = "Raise the limit: 'ulimit -n 65536', or LimitNOFILE=65536 in the systemd unit."


def check_open_files(limits: Mapping[str, int | None]) -> Diagnosis:
    """Judge the limits of open files of processes (None if unknown; -1 if unlimited)."""
    known = {where: limit for where, limit in limits.items() if limit is not None}
    if not known:
        return ok(CHECK, "this system has no such limit")
    endless = max(known.values()) + ENOUGH
    where, least = min(known.items(), key=lambda pair: pair[1] if pair[1] >= 0 else endless)
    if least < 0:
        return ok(CHECK, "no limit")
    found = f"{least:,} ({where})"
    if least < LEAST:
        return failure(CHECK, found, _FIX)
    return ok(CHECK, found) if least >= ENOUGH else warning(CHECK, found, _FIX)
