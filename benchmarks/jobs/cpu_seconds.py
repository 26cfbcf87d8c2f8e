"""Processor time of this process and all below it, by what it was spent on."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

_COMPILER = ("C1 Compiler", "C2 Compiler")


def cpu_seconds() -> Counter[str]:
    """Seconds of "python", "jvm" and, apart from the latter, of its just-in-time "compiler"."""
    spent: Counter[str] = Counter()
    this = psutil.Process()
    for process in [this, *this.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            if process.name() != "java":
                spent["python"] += sum(process.cpu_times()[:2])
                continue
            for thread in process.threads():
                compiles = _name(process.pid, thread.id).startswith(_COMPILER)
                spent["compiler" if compiles else "jvm"] += thread.user_time + thread.system_time
    return spent


def _name(process: int, thread: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/task/{thread}/comm").read_text()
    return ""
