"""From Enter to the first row of a ``SELECT`` in the prompt of ``millrace sql``, on Spark, warm."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import tempfile
import time
from statistics import median

from bar import Data, Row, Section
from job_process import LOGS, MeasurementError, our_environment

TITLE = "The first row in the SQL client"
BAR_SECONDS = 1.0
PROMPT = rb"SQL>"
TABLE = (
    "CREATE TABLE g (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', "
    "'fields.n.min' = '777', 'fields.n.max' = '777');"
)
QUERIES = {
    "SELECT n + 1 AS m FROM g": rb"778",
    "SELECT n + 1 AS m, COUNT(*) AS c FROM g GROUP BY n": rb"778",
}


def measure(quick: bool) -> Data:
    with tempfile.TemporaryDirectory() as home:
        terminal = _Terminal(home)
        try:
            terminal.until(PROMPT, 30)
            terminal.type(TABLE)
            terminal.until(rb"OK")
            terminal.type("SET 'sql-client.execution.result-mode' = 'changelog';")
            terminal.until(rb"OK")
            for query in QUERIES:
                _seconds(terminal, query)  # the first starts the JVM, each its Python workers
            return {
                query: [_seconds(terminal, query) for _ in range(2 if quick else 10)]
                for query in QUERIES
            }
        finally:
            terminal.close()


def _seconds(terminal: _Terminal, query: str) -> float:
    terminal.type(f"{query};")
    seconds = terminal.until(QUERIES[query])
    terminal.type("\x03", "")
    terminal.until(rb"cancelled")
    terminal.until(PROMPT)
    terminal.settle()
    return seconds


class _Terminal:
    """``millrace sql`` as a person has it."""

    def __init__(self, home: str) -> None:
        LOGS.mkdir(parents=True, exist_ok=True)
        self._seen = b""
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            given = {"TERM": "xterm", "COLUMNS": "100", "LINES": "40", "XDG_STATE_HOME": home}
            command = [sys.executable, "-m", "millrace.cli.main", "sql"]
            os.execve(sys.executable, command, {**our_environment(), **given})

    def type(self, text: str, end: str = "\r") -> None:
        """What a person types, and Enter."""
        self._seen = b""
        os.write(self._file, (text + end).encode())

    def until(self, pattern: bytes, limit: float = 60) -> float:
        """Seconds until the screen shows something."""
        started = time.perf_counter()
        while time.perf_counter() < started + limit:
            if found := re.search(pattern, self._seen):
                self._seen = self._seen[found.end() :]
                return time.perf_counter() - started
            self._read(0.01)
        raise MeasurementError(f"no {pattern!r} on the screen: {self._seen[-300:]!r}")

    def settle(self) -> None:
        """Two quiet seconds: a person reads, and the job's end is over."""
        until = time.perf_counter() + 2
        while time.perf_counter() < until:
            self._read(0.1)

    def close(self) -> None:
        """End it."""
        os.kill(self._pid, signal.SIGTERM)
        os.close(self._file)
        os.waitpid(self._pid, 0)

    def _read(self, seconds: float) -> None:
        if select.select([self._file], [], [], seconds)[0]:
            self._seen += os.read(self._file, 1 << 16)
            if b"\x1b[6n" in self._seen:  # where the cursor is, asked by the prompt's library
                self._seen = self._seen.replace(b"\x1b[6n", b"")
                os.write(self._file, b"\x1b[1;1R")


def section(data: Data) -> Section:
    slowest = max(data, key=lambda query: median(data[query]))
    seconds = median(data[slowest])
    row = Row(
        "from Enter to the first row in `millrace sql`, warm, median",
        f"{BAR_SECONDS:.0f} s",
        f"{seconds:.2f} s (`{slowest}`)",
        seconds <= BAR_SECONDS,
    )
    lines = [
        f"`{query}`: median {median(times):.2f} s, worst {max(times):.2f} s of {len(times)}."
        for query, times in data.items()
    ]
    text = "Typed into a pseudo-terminal, on Spark, of a table of 1,000 rows per second. "
    return Section([row], [text + " ".join(lines)])
