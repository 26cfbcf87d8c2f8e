"""Puts the examples of docs/savepoints, and what their commands say, into the pages.

Run without arguments after a change of docs/savepoints/examples or of the commands;
tests/docs/test_savepoint_pages.py says when a page and its examples have parted.

A page is one session in an empty directory, in which the files of its examples are. Its console
blocks are carried out line by line in this process, without Spark. What differs from run to run
(ids, times, sizes) is shown as if it did not.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread, current_thread
from typing import Any
from unittest import mock

import pyarrow.parquet  # noqa: F401 (what a job imports is forgotten after it; numpy bears one import)

from millrace.cli.arguments import RunArguments, UsageError, run_arguments
from millrace.cli.failure_report import failure_report
from millrace.cli.interrupts import Interrupts
from millrace.cli.launcher import CommandLineLauncher
from millrace.cli.main import main as millrace
from millrace.cli.parser import parse
from millrace.cli.run import run_job_file
from millrace.cli.state_directory import default_checkpoint_dir, default_savepoint_dir
from millrace.cli.terminal import Terminal
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobCancelledError
from millrace.common.job import JobStatus
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.clock import SystemClock
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.testing import LocalExecutor

PAGES = Path(__file__).resolve().parent.parent / "docs" / "savepoints"
FILE = re.compile(r'```(?P<kind>\w+) title="examples/(?P<name>[\w./-]+)"\n.*?```', re.DOTALL)
CONSOLE = re.compile(r"```console\n(?P<lines>.*?)```", re.DOTALL)
ID = re.compile(r"savepoint-[\w-]+-(?P<id>[0-9a-f]{12})")
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
SIZE = re.compile(r"(?:\d+\.\d KiB|\d+ B\b)(?: +(?=  x ))?")
"""With the padding in front of the number of subtasks: both depend on the lengths of paths."""
EPOCH = re.compile(r"before epoch \d+")
WAITING = re.compile(r"millrace: the job waits for .*\n")
"""What a command says only on a machine that is slow."""
NOON = 1_796_126_400_000
"""When the sessions begin: 2026-12-01 12:00 UTC. Every command is a minute later."""
RUNNING = JobStatus.RUNNING
START = 20.0
"""Seconds in which a job must be up."""


def pages() -> list[Path]:
    """The pages that are sessions."""
    return [page for page in sorted(PAGES.glob("*.md")) if FILE.search(page.read_text("utf-8"))]


def filled(page: Path, patience: float = 1.5) -> str:
    """The page as it should be.

    Args:
        patience: seconds of silence after which a job has nothing more to say; it counts only
            when the job does not say what the page says.
    """
    text = FILE.sub(_with_file, page.read_text("utf-8"))
    with Session(text, patience) as session:
        return CONSOLE.sub(lambda block: session.block(block["lines"]), text)


def _with_file(match: re.Match[str]) -> str:
    content = (PAGES / "examples" / match["name"]).read_text("utf-8")
    return f'```{match["kind"]} title="examples/{match["name"]}"\n{content}```'


class PageClock(SystemClock):
    """Goes on, but is a minute later after every command."""

    def __init__(self) -> None:
        self.commands = 0
        self._began = time.monotonic()

    def next_command(self) -> None:
        self.commands += 1
        self._began = time.monotonic()

    def now(self) -> int:
        within = min(int((time.monotonic() - self._began) * 1000), 59_000)
        return NOON + self.commands * 60_000 + within


@dataclass
class Job:
    """A job that runs in the background, and what it has printed."""

    output: io.StringIO = field(default_factory=io.StringIO)
    client: EmbeddedJobClient | None = None
    problem: BaseException | None = None
    thread: Thread | None = None

    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.client is not None and not self.client.get_job_execution_result().done()


@dataclass
class PageLauncher(CommandLineLauncher):
    """Runs the jobs of a page in this process."""

    page_job: Job = field(default_factory=Job)

    def client(self, *args: Any, **kwargs: Any) -> EmbeddedJobClient:
        """Remembers the job."""
        self.page_job.client = super().client(*args, **kwargs)
        return self.page_job.client


class JobsOutput(io.TextIOBase):
    """Standard output: what a job prints goes to that job, all else to who runs a command."""

    def __init__(self, jobs: list[Job]) -> None:
        self._jobs = jobs
        self.command = io.StringIO()

    def write(self, text: str) -> int:
        name = current_thread().name
        for job in reversed(self._jobs):  # a later one may have the id of an earlier one
            if job.client is not None and name == f"millrace-{job.client.get_job_id()}":
                return job.output.write(text)
        return self.command.write(text)


class Session:
    """A terminal in a directory of its own."""

    interval = "1 h"
    """Time between checkpoints."""

    def __init__(self, page: str, patience: float) -> None:
        self._page = page
        self._patience = patience
        self._clock = PageClock()
        self._ids: dict[str, str] = {}
        """Real id -> the one on the page."""
        self._jobs: list[Job] = []
        self._output = JobsOutput(self._jobs)

    def __enter__(self) -> Session:
        self._stack = contextlib.ExitStack()
        directory = Path(self._stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        self._lay_out(directory)
        before = os.getcwd()
        os.chdir(directory)
        self._stack.callback(os.chdir, before)
        environment = {"XDG_STATE_HOME": str(directory / ".state"), "TZ": "UTC"}
        self._stack.enter_context(mock.patch.dict(os.environ, environment))
        self._stack.enter_context(mock.patch.dict(sys.modules))
        # what jobs log is not what commands say
        silent, logger = logging.NullHandler(), logging.getLogger("millrace")
        logger.addHandler(silent)
        self._stack.callback(logger.removeHandler, silent)
        self._stack.enter_context(mock.patch.object(sys, "argv", list(sys.argv)))
        self._stack.enter_context(contextlib.redirect_stdout(self._output))
        time.tzset()
        return self

    def _lay_out(self, directory: Path) -> None:
        """Put the files there that a session begins with."""
        for match in FILE.finditer(self._page):
            shutil.copy(PAGES / "examples" / match["name"], directory)

    def __exit__(self, *exception: object) -> None:
        for job in self._jobs:
            if job.client is not None:
                job.client.cancel()
        for job in self._jobs:
            if job.thread is not None:
                job.thread.join(START)
        JobLauncher.install(None)
        self._stack.close()
        time.tzset()

    # -- commands ------------------------------------------------------------------------------

    def block(self, lines: str) -> str:
        """A console block as it should be: its commands, each with what it says."""
        commands = re.split(r"^(?=\$ )", lines, flags=re.MULTILINE)
        return "```console\n" + "".join(map(self._command, filter(None, commands))) + "```"

    def _command(self, text: str) -> str:
        line, _, said = text.partition("\n")
        while line.endswith("\\"):
            more, _, said = said.partition("\n")
            line = f"{line}\n{more}"
        self._clock.next_command()
        words = self._real(line.replace("\\\n", " ").removeprefix("$ "))
        return f"{line}\n{self._shown(self._run(words, said))}"

    def _run(self, line: str, said: str) -> str:
        words = shlex.split(line)
        if words[:2] == ["millrace", "run"] and words[-1] == "&":
            return self._start(words[1:-1], said)
        if words[0] == "millrace":
            return self._millrace(words[1:])
        done = subprocess.run(
            line,
            shell=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        running = [job for job in self._jobs if job.runs()]
        if words[-1] == "input/" and running:
            return self._await_output(running[-1], said)
        return done.stdout

    def _millrace(self, words: list[str]) -> str:
        self._output.command = io.StringIO()
        with contextlib.redirect_stderr(self._output.command):
            millrace(words)
        return self._output.command.getvalue()

    def _start(self, words: list[str], said: str) -> str:
        """Run a job in the background, and wait until it has said what the page says."""
        try:
            arguments = run_arguments(parse(words), words)
        except UsageError as error:
            return f"millrace: {error}\n"
        job = Job()
        terminal = Terminal(io.StringIO())
        base = {
            "execution.checkpointing.dir": str(default_checkpoint_dir()),
            "execution.checkpointing.savepoint-dir": str(default_savepoint_dir()),
            "execution.checkpointing.interval": self.interval,
        }
        launcher = PageLauncher(
            settings=arguments.settings,
            defaults=Configuration(base),
            resume=arguments.resume,
            clock=self._clock,
            executor=lambda configuration, name, parallelism: LocalExecutor(),
            terminal=terminal,
            interrupts=Interrupts(terminal),
            arguments=arguments,
            page_job=job,
        )
        JobLauncher.install(launcher)
        self._jobs.append(job)
        job.thread = Thread(target=self._run_file, args=(job, arguments), daemon=True)
        job.thread.start()
        self._await_start(job)
        return self._await_output(job, said)

    def _run_file(self, job: Job, arguments: RunArguments) -> None:
        try:
            run_job_file(arguments.job, arguments.job_arguments)
        except JobCancelledError:
            pass
        except BaseException as error:
            job.problem = error

    def _await_start(self, job: Job) -> None:
        deadline = time.monotonic() + START
        while job.problem is None and time.monotonic() < deadline:
            if job.client is not None and job.client.get_job_status().result() is RUNNING:
                return
            time.sleep(0.01)

    def _await_output(self, job: Job, said: str) -> str:
        """All that the job says until it is as on the page, or silent for a while."""
        silent_since, last = time.monotonic(), ""
        while time.monotonic() - silent_since < self._patience:
            if job.problem is not None:
                return failure_report(job.problem)
            if self._shown(job.output.getvalue()) == said != "":
                break
            if job.output.getvalue() != last:
                silent_since, last = time.monotonic(), job.output.getvalue()
            time.sleep(0.01)
        text = job.output.getvalue()
        job.output.truncate(job.output.seek(0))
        return text

    # -- what differs from run to run ----------------------------------------------------------

    def _shown(self, text: str) -> str:
        for match in ID.finditer(text):
            number = len(self._ids)
            made_up = hashlib.sha256(f"savepoint {number}".encode()).hexdigest()[:12]
            self._ids.setdefault(match["id"], made_up)
        for real, made_up in self._ids.items():
            text = text.replace(real, made_up).replace(real[:8], made_up[:8])
        text = (
            text.replace(f"{os.getcwd()}/.state", "~/.local/state")
            .replace(f"{os.getcwd()}/", "")
            .replace(f"{os.getcwd()}", ".")
        )
        text = TIME.sub(lambda at: f"{at[0][:-2]}00", text)
        for number, made_up in enumerate(self._ids.values(), start=2):
            text = re.sub(rf"({made_up[:8]}.*  chk-)\d+", rf"\g<1>{number}", text)
        return EPOCH.sub("before epoch 2", SIZE.sub("2.1 KiB", WAITING.sub("", text)))

    def _real(self, line: str) -> str:
        for real, made_up in self._ids.items():
            line = line.replace(made_up, real).replace(made_up[:8], real[:8])
        return line


def main() -> None:
    """Write all pages."""
    for page in pages():
        page.write_text(filled(page), "utf-8")


if __name__ == "__main__":
    main()
