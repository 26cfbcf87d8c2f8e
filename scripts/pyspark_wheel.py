"""Makes the wheel of a PySpark once, for all environments of this user.

PySpark is published as source only. Whatever installs it unpacks a gigabyte and packs it into a
wheel, and uv keeps that gigabyte in its cache. So ``make setup``, ``make test-matrix`` and ``make
release`` install the wheel from the directory of this module, which keeps nothing of the source.

``python scripts/pyspark_wheel.py`` prints the directory, with the wheel of the version in
constraints.txt. It needs pip and nothing else: there is no environment yet when set-up calls it.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

__all__ = ["pinned_version", "pyspark_wheel", "remove_wheels", "wheel_directory"]

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"


def wheel_directory() -> Path:
    """The directory of the wheels, in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "millrace" / "pyspark"


def pinned_version(constraints: Path = CONSTRAINTS) -> str:
    """The version of PySpark in constraints.txt."""
    text = constraints.read_text(encoding="utf-8")
    [version] = re.findall(r"^pyspark==(\S+)$", text, re.MULTILINE)
    return str(version)


def build(version: str, directory: Path) -> None:
    """Build a wheel with pip, which deletes the source afterwards.

    Raises:
        subprocess.CalledProcessError: pip fails; it has said why.
    """
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-cache-dir"]
    command = [*pip, "--wheel-dir", str(directory), f"pyspark=={version}"]
    subprocess.run(command, check=True, stdout=sys.stderr)


def pyspark_wheel(
    version: str | None = None,
    directory: Path | None = None,
    make: Callable[[str, Path], None] = build,
) -> Path:
    """The wheel of a version, which is built if there is none.

    Args:
        version: such as ``4.3.0``, or ``4.1.*`` for the newest 4.1 when it was built. None for the
            version in constraints.txt.
        directory: None for the directory of this user.
        make: builds the wheel of a version in a directory.
    """
    version = version or pinned_version()
    place = directory or wheel_directory()
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two checkouts may be set up at once
        if not _kept(version, place):
            with tempfile.TemporaryDirectory(dir=place) as half_done:
                make(version, Path(half_done))
                for wheel in Path(half_done).glob("pyspark-*.whl"):
                    wheel.replace(place / wheel.name)
        return _kept(version, place)[-1]


def remove_wheels(directory: Path | None = None) -> None:
    """Delete the wheels of all versions but the one in constraints.txt."""
    for wheel in _kept("*", directory or wheel_directory()):
        if _version_of(wheel) != pinned_version():
            wheel.unlink()


def _kept(version: str, directory: Path) -> list[Path]:
    """The wheels of matching versions, the newest last."""
    wheels = [w for w in directory.glob("pyspark-*.whl") if fnmatch(_version_of(w), version)]
    return sorted(wheels, key=lambda wheel: [int(n) for n in re.findall(r"\d+", wheel.name)])


def _version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


if __name__ == "__main__":
    print(pyspark_wheel().parent)
