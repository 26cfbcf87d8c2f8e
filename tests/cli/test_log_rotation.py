"""Logs of runs do not grow without bound."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.cli.log_rotation import former, rotate, rotated


def test_a_short_log_stays(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    assert not rotate(log, 10)
    log.write_text("0123456789")
    assert not rotate(log, 10)
    assert os.listdir(tmp_path) == ["a.log"]


def test_a_long_log_becomes_the_former_one(tmp_path: Path) -> None:
    """Its user's alone, as the log is; there is one former log only."""
    log = tmp_path / "a.log"
    for text in ("first one", "second one"):
        log.write_text(text)
        assert rotate(log, 5)
        assert (log.read_text(), former(log).read_text()) == ("", text)
    assert stat.S_IMODE(former(log).stat().st_mode) == 0o600


def test_a_full_disk_empties_the_log(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("long")
    former(log).mkdir()  # cannot be written, either
    assert rotate(log, 3)
    assert log.read_text() == ""


def test_who_writes_goes_on_writing(tmp_path: Path) -> None:
    """Another process that holds it open, as the JVM does for the prints of workers."""
    log = tmp_path / "a.log"
    program = "for n in range(300_000): print('record', n)"
    with rotated(log, max_bytes=100_000, interval=0.001), log.open("ab") as file:
        subprocess.run([sys.executable, "-c", program], stdout=file, check=True)
    whole = former(log).read_text() + log.read_text()
    # what is written just when the log is emptied may be lost: one write of the program's
    assert {f"record {number}" for number in range(297_000, 300_000)} & set(whole.splitlines())
    assert log.stat().st_size < 4_000_000
    assert "\0" not in whole


def test_what_was_written_since_the_last_look(tmp_path: Path) -> None:
    """A run that ends before the next look."""
    log = tmp_path / "a.log"
    with rotated(log, max_bytes=3, interval=3_600):
        log.write_text("long")
    assert (log.read_text(), former(log).read_text()) == ("", "long")


@pytest.mark.spark
@pytest.mark.torture
def test_prints_of_workers_are_bounded(tmp_path: Path) -> None:
    """A function that prints each record."""
    job = tmp_path / "job.py"
    job.write_text(
        "from millrace.datastream import StreamExecutionEnvironment\n"
        "from millrace.common.time.watermark_strategy import WatermarkStrategy\n"
        "from millrace.connectors import NumberSequenceSource\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "source = NumberSequenceSource(1, 60_000)\n"
        "numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), 'n')\n"
        "numbers.map(lambda n: print(n, 'x' * 2_000)).print()\n"
        "env.execute('chatty')\n"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [sys.executable, "-m", "millrace.cli.main", "run", str(job)]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=600)
    kept = (tmp_path / "state" / "millrace" / "logs").iterdir()
    logs = [path for path in kept if path.suffix != ".spark"]
    assert len(logs) == 2
    assert sum(log.stat().st_size for log in logs) > 64 << 20
    assert max(log.stat().st_size for log in logs) < 125 << 20
