"""Packages of Debian and its kin, without root: fetched by apt, unpacked below `.services`.

What the machine lacks of their dependencies comes with them; what it has is used as it is.
"""

from __future__ import annotations

import functools
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from service import ServiceUnavailableError, cache_directory, install_lock, run_installer


@dataclass(frozen=True)
class DebianPackages:
    """Unpacked packages."""

    root: Path
    """As ``/`` would be, had they been installed."""

    def path(self, pattern: str) -> Path:
        """A file or directory by its path below the root: the last of several by name.

        Raises:
            ServiceUnavailableError: there is none.
        """
        found = sorted(self.root.glob(pattern))
        if not found:
            raise ServiceUnavailableError(f"the Debian packages in {self.root} have no {pattern}")
        return found[-1]

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables with which their programs find their libraries and each other."""
        libraries = [*self.root.glob("usr/lib/*-linux-*"), *self.root.glob("lib/*-linux-*")]
        # libpulse looks for its other half below the real root
        libraries += self.root.glob("usr/lib/*-linux-*/pulseaudio")
        programs = [self.root / name for name in ("usr/sbin", "usr/bin", "sbin", "bin")]
        return {
            "LD_LIBRARY_PATH": _joined(libraries, os.environ.get("LD_LIBRARY_PATH")),
            "PATH": _joined(programs, os.environ.get("PATH")),
        }


def debian_packages(name: str, *packages: str) -> DebianPackages:
    """Packages and what the machine lacks of their dependencies; instant if they are there.

    Args:
        name: of the directory.
        packages: their names.

    Raises:
        ServiceUnavailableError: there is no apt, no network, or no such package.
    """
    directory = cache_directory() / f"{name}-{_release()}"
    done = directory / ".installed"
    with install_lock(directory.name):
        if not done.exists():
            shutil.rmtree(directory, ignore_errors=True)
            archives = _downloaded(directory, packages)
            for archive in archives:
                run_installer(["dpkg-deb", "-x", archive, directory])
            shutil.rmtree(directory / ".cache")
            done.write_text("".join(f"{archive.stem}\n" for archive in archives))
    return DebianPackages(directory)


@functools.cache
def _release() -> str:
    """The distribution's release and the machine's kind: packages of another would not run."""
    try:
        release = platform.freedesktop_os_release()
    except OSError as error:
        raise ServiceUnavailableError("not on Debian or its kin: no /etc/os-release") from error
    version = release.get("VERSION_CODENAME") or release.get("VERSION_ID", "unknown")
    return f"{release.get('ID', 'linux')}-{version}-{platform.machine()}"


def _downloaded(directory: Path, packages: tuple[str, ...]) -> list[Path]:
    """The archives, by the machine's package lists; by lists of our own if it has none, or such
    that name packages which are no longer there."""
    cache = directory / ".cache"
    own = ["-o", f"Dir::Cache={cache}", "-o", "APT::Sandbox::User=root"]
    command = ["install", "--download-only", "--reinstall", "--no-install-recommends", "-y"]
    (cache / "archives" / "partial").mkdir(parents=True)
    try:
        _apt(own, *command, *packages)
    except ServiceUnavailableError:
        lists = cache / "lists"
        (lists / "partial").mkdir(parents=True)
        own += ["-o", f"Dir::State::lists={lists}"]
        _apt(own, "update")
        _apt(own, *command, *packages)
    return sorted((cache / "archives").glob("*.deb"))


def _apt(options: list[str], *arguments: str) -> None:
    # the machine's package database is only read
    quiet = ["-qq", "-o", "Debug::NoLocking=true", "-o", "Acquire::Retries=3"]
    run_installer(["apt-get", *arguments, *quiet, *options])


def _joined(directories: list[Path], before: str | None) -> str:
    return os.pathsep.join([*map(str, directories), *([before] if before else [])])
