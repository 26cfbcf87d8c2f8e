"""Debian packages: why they cannot be had is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from debian import DebianPackages, debian_packages
from service import ServiceUnavailableError


def test_a_machine_without_apt_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_SERVICES_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServiceUnavailableError, match="apt-get is missing"):
        debian_packages("some", "some-server")
    assert not list(tmp_path.glob("*/.installed"))


def test_the_newest_of_several_files_is_found(tmp_path: Path) -> None:
    for version in ("15", "17"):
        (tmp_path / "lib" / version).mkdir(parents=True)
    packages = DebianPackages(tmp_path)
    assert packages.path("lib/*") == tmp_path / "lib" / "17"
    with pytest.raises(ServiceUnavailableError, match="no bin/server"):
        packages.path("bin/server")
