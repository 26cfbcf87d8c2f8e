"""Where and with what a measurement was made."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from job_process import SOURCES


def description() -> dict[str, str]:
    """Machine, versions and date, as name and text."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "java": _java(),
        "pyspark": _installed("pyspark"),
        "millrace": _own_version(),
        "load": f"{os.getloadavg()[0]:.1f}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def _java() -> str:
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return "?"
    found = re.search(r'version "([^"]+)"', done.stderr)
    return found[1] if found else "?"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def _own_version() -> str:
    command = ["git", "-C", str(SOURCES), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = (SOURCES / "millrace" / "__init__.py").read_text()
    found = re.search(r'__version__ = "([^"]+)"', text)
    number = found[1] if found else "?"
    return f"{number} ({done.stdout.strip()})" if done.returncode == 0 else number
