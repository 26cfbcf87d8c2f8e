"""The unit of the job server."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.cli.parser import parse

UNIT = Path(__file__).resolve().parents[2] / "deploy" / "systemd" / "millrace.service"


def test_systemd_has_nothing_to_say_about_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is missing")
    unit = tmp_path / UNIT.name
    # it is verified that the program is there
    program = os.path.join(os.path.dirname(sys.executable), "millrace")
    unit.write_text(UNIT.read_text().replace("/opt/millrace/bin/millrace", program))
    run = subprocess.run(
        [analyze, "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_the_server_understands_its_words_and_jobs_outlive_it() -> None:
    settings = configparser.ConfigParser(strict=False, interpolation=None)
    settings.optionxform = str  # type: ignore[assignment,method-assign]
    settings.read(UNIT)
    service = settings["Service"]
    parsed = parse(service["ExecStart"].split()[1:])
    assert str(parsed.directory) == "/var/lib/millrace/server"
    assert service["KillMode"] == "process"
    assert "PrivateTmp" not in service
