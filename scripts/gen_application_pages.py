"""Puts the programs of docs/applications, and what their commands say, into the pages.

Run without arguments after a change of an application; tests/docs/test_application_pages.py says
when a page and its program have parted. A page is one session in a copy of its application; a
command that looks at files is repeated until it says what the page says, for a while.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import gen_cep_pages
import gen_savepoint_pages
import pandas  # type: ignore[import-untyped]  # noqa: F401 (what a session imports is forgotten)

from millrace.cli.failure_report import failure_report
from millrace.common.job import JobStatus
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing import LocalExecutor

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "applications"
STATEFUN = ROOT / "docs" / "statefun"
"""Pages whose sessions tests/docs/test_statefun_pages.py runs."""
COPY = re.compile(r"\$ cp -r \S+/examples/(?P<name>\w+) \.")
"""The first command of a page."""
PATIENCE = 120.0
"""Seconds in which a job in the foreground must have ended."""
LOOKS = (
    *("cat ", "sort ", "ls ", "python -c"),
    *("python ask.py", "python read_feed.py", "python balance.py"),
)
"""Commands that look at files which a job may still be writing."""


def pages() -> list[Path]:
    """The pages that are sessions; tests/docs/test_statefun_pages.py runs those of functions."""
    texts = {page: page.read_text("utf-8") for page in sorted(PAGES.glob("*.md"))}
    return [
        page
        for page, text in texts.items()
        if COPY.search(text) and "millrace statefun run" not in text
    ]


def with_programs() -> list[Path]:
    """The pages that may show programs of examples."""
    return [*sorted(PAGES.glob("*.md")), *sorted(STATEFUN.glob("*.md"))]


def with_files(page: Path) -> str:
    """The page with the programs as they are now."""
    return gen_cep_pages.FILE.sub(gen_cep_pages.with_file, page.read_text("utf-8"))


def filled(page: Path, patience: float = 8.0, afresh: bool = True) -> str:
    """The page as it should be.

    Args:
        patience: seconds in which a command must say what the page says.
        afresh: whether to wait that long even if it does, as more may follow.
    """
    text = with_files(page)
    session = Session(text, patience)
    session.afresh = afresh
    with session:
        return gen_savepoint_pages.CONSOLE.sub(lambda block: session.block(block["lines"]), text)


class Session(gen_savepoint_pages.Session):
    """A terminal in a copy of an application."""

    interval = "100 ms"
    afresh = True

    def _lay_out(self, directory: Path) -> None:
        name = COPY.findall(self._page)[0]
        files = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "examples" / name, directory, dirs_exist_ok=True, ignore=files)
        sys.path.insert(0, str(directory))  # what `millrace run` does
        self._stack.callback(sys.path.remove, str(directory))

    def _run(self, line: str, said: str) -> str:
        if COPY.match(f"$ {line}"):
            return ""
        if line.startswith("kill -9"):
            return self._kill()
        if line.startswith("millrace run"):
            words = line.split()[1:]
            return self._start(words[:-1], "") if words[-1] == "&" else self._run_to_end(words)
        if line.startswith("millrace sql"):
            install_local_launcher()
        if line.startswith("millrace "):
            return super()._run(line, said)
        return self._shell(line, said)

    def _run_to_end(self, words: list[str]) -> str:
        """A job in the foreground, and what its program prints."""
        self._output.command = io.StringIO()
        problem = self._start(words, "")
        job = self._jobs[-1]
        if job.thread is not None:
            job.thread.join(PATIENCE)
        if job.problem is not None:
            return failure_report(job.problem)
        return problem or self._output.command.getvalue() + job.output.getvalue()

    def _await_start(self, job: gen_savepoint_pages.Job) -> None:
        """A job with little to do has ended before anybody has looked."""
        assert job.thread is not None
        while job.thread.is_alive():
            if job.client is not None and job.client.get_job_status().result() is JobStatus.RUNNING:
                return
            time.sleep(0.01)

    def _kill(self) -> str:
        """The nearest to it that a thread can come: no checkpoint, no last word."""
        job = self._jobs[-1]
        assert job.client is not None
        assert job.thread is not None
        job.client.cancel()
        job.thread.join(gen_savepoint_pages.START)
        return ""

    def _await_output(self, job: gen_savepoint_pages.Job, said: str) -> str:
        return "" if job.problem is None else super()._await_output(job, said)

    def _shell(self, line: str, said: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        deadline = time.monotonic() + self._patience
        while True:
            done = subprocess.run(
                line,
                shell=True,
                text=True,
                env={**os.environ, "PATH": path, "LC_ALL": "C"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            differs = self._shown(done.stdout) != said
            again = line.startswith(LOOKS) and (self.afresh or differs)
            if not again or time.monotonic() > deadline:
                return done.stdout
            time.sleep(0.1)


def install_local_launcher() -> None:
    """Jobs of the SQL client run in this process."""
    JobLauncher.install(JobLauncher(executor=lambda *_: LocalExecutor()))


def main() -> None:
    """Write all pages."""
    sessions = pages()
    for page in with_programs():
        page.write_text(filled(page) if page in sessions else with_files(page), "utf-8")


if __name__ == "__main__":
    main()
