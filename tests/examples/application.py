"""Runs an application of the examples as its user does: starts, kills, resumes, stops, upgrades."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

from millrace.cli.main import main as millrace
from millrace.cli.run import run_job_file
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobCancelledError
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.executor import Executor

EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE = 240.0
"""Seconds that anything may take on a busy machine."""
SETTINGS = {
    "execution.checkpointing.interval": "200 ms",
    # watermarks travel between buffers: in big ones nothing would be late
    "millrace.buffer.records": "16",
}
Executors = Callable[[Configuration, str, int], Executor]


class Application:
    """One job, and the versions of its program, with all its files in one directory.

    Args:
        directory: given to the program as its only argument.
        job: the name of the job.
        executor: what runs the jobs of this process; None: its Spark session.
    """

    def __init__(self, directory: Path, job: str, executor: Executors | None = None) -> None:
        self.directory = directory
        self.job = job
        self._executor = executor
        self._thread: Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._problem: BaseException | None = None
        self._before = sys.modules["__main__"], list(sys.argv)

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        if self._thread is not None and self._thread.is_alive():
            self.command("cancel")
            self._join()
        JobLauncher.install(None)
        sys.modules["__main__"], sys.argv = self._before

    # -- running -------------------------------------------------------------------------------

    def start_process(self, script: str) -> None:
        """``millrace run`` in a process of its own, to be killed."""
        pairs = [word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")]
        source = Path(__file__).parents[2] / "src"
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "millrace.cli.main", "run", "--parallelism", "2", *pairs),
                *("--checkpoint-dir", str(self._checkpoints)),
                *(str(EXAMPLES / script), str(self.directory)),
            ],
            env={**os.environ, "PYTHONPATH": str(source), "XDG_STATE_HOME": str(self._state)},
            stdout=subprocess.DEVNULL,
            stderr=(self.directory / "stderr").open("ab"),
            start_new_session=True,
        )

    def kill(self) -> None:
        """``kill -9`` of the driver; its JVM and workers end by themselves."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        assert self._process.wait(PATIENCE) == -signal.SIGKILL

    def start(
        self, script: str, *, parallelism: int = 2, resume: bool = False, savepoint: str = ""
    ) -> None:
        """The same job in this process."""
        settings = Configuration(
            {
                **SETTINGS,
                "execution.checkpointing.dir": str(self._checkpoints),
                "execution.checkpointing.savepoint-dir": str(self.directory / "savepoints"),
                "parallelism.default": str(parallelism),
                **({"execution.state-recovery.path": savepoint} if savepoint else {}),
            }
        )
        JobLauncher.install(JobLauncher(settings=settings, resume=resume, executor=self._executor))
        self._problem = None
        self._thread = Thread(target=self._run, args=(EXAMPLES / script,), daemon=True)
        self._thread.start()

    def _run(self, script: Path) -> None:
        try:
            run_job_file(script, [str(self.directory)])
        except JobCancelledError:
            pass
        except BaseException as error:
            self._problem = error

    def stop(self, *options: str) -> str:
        """``millrace stop``; returns the path of the savepoint."""
        if self._problem is not None:
            raise self._problem
        savepoint = self.command("stop", *options)["savepoint"]
        self._join()
        return str(savepoint)

    def _join(self) -> None:
        assert self._thread is not None
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self._problem is not None:
            raise self._problem

    # -- watching ------------------------------------------------------------------------------

    def command(self, *words: str) -> Any:
        """What ``millrace`` says in JSON of the job."""
        output = io.StringIO()
        arguments = [words[0], self.job, "--checkpoint-dir", str(self._checkpoints), "--json"]
        with contextlib.redirect_stdout(output):
            assert millrace([*arguments, *words[1:]]) == 0, output.getvalue()
        return json.loads(output.getvalue())

    def wait_for(self, happened: Callable[[], bool]) -> None:
        """Until something happens; fails when the job ends first."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if self._problem is not None:
                raise self._problem
            if self._process is not None and self._process.poll() not in (None, -signal.SIGKILL):
                raise AssertionError((self.directory / "stderr").read_text("utf-8"))
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def progress(self) -> dict[str, Any]:
        """``millrace status`` of the job; empty before it is up."""
        if not list(self._checkpoints.glob("*/control/run*")):
            return {}
        return dict(self.command("status"))

    # -- files ---------------------------------------------------------------------------------

    def written(self, name: str) -> list[Any]:
        """The records in the JSON lines of a sink."""
        parts = sorted((self.directory / "results" / name).rglob("part-*"))
        return [json.loads(line) for part in parts for line in part.read_text("utf-8").splitlines()]

    @property
    def _state(self) -> Path:
        return self.directory / "state"

    @property
    def _checkpoints(self) -> Path:
        return self._state / "checkpoints"
