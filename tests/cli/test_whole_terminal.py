"""All that a person sees on the terminal when a job ends, with Spark in a real terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

# on a machine that is busy PySpark's workers may notice the end of the JVM before they are ended
pytestmark = [pytest.mark.spark, pytest.mark.alone]

SOURCES = Path(__file__).parents[2] / "src"
PATIENCE = 240.0
JOB = """
import time
from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

def slow(number):
    time.sleep(0.001)
    return number

small = Configuration({"millrace.epoch.initial-records-per-split": "300"})
env = StreamExecutionEnvironment.get_execution_environment(small)
env.set_parallelism(2)
source = NumberSequenceSource(0, 10**6)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(slow).filter(lambda n: n % 100 == 0).print()
env.execute("endless")
"""
NOISE = ("py4j", "Py4J", "Exception ignored", "daemon", "ERROR", "java.", "pyspark", "WARN Task")


class Terminal:
    """A program in a terminal of its own, and what it has written there."""

    def __init__(self, directory: Path, *command: str) -> None:
        variables = {
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "XDG_STATE_HOME": str(directory / "state"),
            "COLUMNS": "500",
        }
        (directory / "job.py").write_text(JOB)
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execve(sys.executable, [sys.executable, *command], variables)
        self._written = b""

    @property
    def text(self) -> str:
        """Without the line that comes and goes, and what a terminal shows of Ctrl-C."""
        text = self._written.decode(errors="replace").replace("\r\n", "\n").replace("^C", "")
        return re.sub(r"\r?\x1b\[2K[^\n\r\x1b]*(?=\r?\x1b\[2K)|\x1b\[2K|\r", "", text)

    def until(self, happened: Callable[[str], bool]) -> None:
        """Read on until something has been written."""
        deadline = time.monotonic() + PATIENCE
        while not happened(self.text):
            assert time.monotonic() < deadline, self.text
            assert self._read(), self.text

    def press_ctrl_c(self) -> None:
        """For all processes in the terminal."""
        os.write(self._terminal, b"\x03")

    def end(self) -> int:
        """Wait for its end; what `subprocess` calls its return code."""
        deadline = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < deadline, self.text
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        if select.select([self._terminal], [], [], 0.2)[0]:
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # the last process has closed it
                return False
            self._written += data
            return bool(data)
        return True


def prints(text: str) -> bool:
    return re.search(r"^\d+> \d+$", text, re.MULTILINE) is not None


def after_the_output(text: str) -> list[str]:
    lines = text.splitlines()
    last = max(number for number, line in enumerate(lines) if re.match(r"\d+> \d+$", line))
    return [line for line in lines[last + 1 :] if line.strip()]


def test_a_program_that_is_interrupted(tmp_path: Path) -> None:
    """There were two screens of py4j's and PySpark's tracebacks, and errors of Spark's after the
    prompt."""
    terminal = Terminal(tmp_path, "job.py")
    terminal.until(prints)
    terminal.press_ctrl_c()
    assert terminal.end() == -signal.SIGINT
    assert not [word for word in (*NOISE, "log4j", "WARN ") if word in terminal.text], terminal.text
    begins, place, line, *more = after_the_output(terminal.text)
    assert begins == "Traceback (most recent call last):"
    assert re.fullmatch(r'  File ".*job.py", line 17, in <module>', place)
    assert line.strip() == 'env.execute("endless")'
    assert more[-1] == "KeyboardInterrupt"
    assert len(more) <= 2  # Python 3.13 marks the expression


@pytest.mark.torture
def test_a_job_that_is_interrupted_twice(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "-m", "millrace", "run", "job.py")
    terminal.until(prints)
    terminal.press_ctrl_c()
    terminal.until(lambda text: "stopping after this epoch" in text)
    terminal.press_ctrl_c()
    assert terminal.end() == 130
    assert not [word for word in NOISE if word in terminal.text], terminal.text
    said = [line.partition(" (Ctrl")[0] for line in terminal.text.splitlines()]
    assert [line for line in said if re.match("millrace: .*stop", line)] == [
        "millrace: stopping after this epoch",
        "millrace: stopping immediately",
        "millrace: the job was stopped immediately",
    ]
    assert re.fullmatch(
        r"millrace: to continue from checkpoint \d+: millrace run --resume job.py", said[-1]
    )
