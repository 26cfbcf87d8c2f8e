"""The process of a job. It outlives the server, and the next server finds it again.

The process inherits the lock of a file, which the operating system takes back when it dies. So a
server knows for certain whether a job has a process, also one that it did not start itself, and
two servers cannot start two.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import MappingProxyType

from millrace.common.config.options import CONTROL_DIR
from millrace.common.config.settings_variable import DEFAULTS_VARIABLE, SETTINGS_VARIABLE
from millrace.engine.archived_job import ArchivedJob, read_archive
from millrace.engine.control_mailbox import Mailbox
from millrace.engine.exit_note import EXIT_NOTE, ExitNote, read_exit_note
from millrace.engine.fence import FENCE, FENCING_TOKEN, Fence
from millrace.engine.job_identity import RAN_BEFORE
from millrace.engine.job_record import JobRecord, read_record
from millrace.engine.process_identity import descendants, process_space
from millrace.runtime.logs.log_formats import readable
from millrace.runtime.logs.log_settings import FAILURE_REPORT, RUN_LOG
from millrace.server.registry import Submission

__all__ = ["COMMAND", "JobProcess"]

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "millrace")
LOG_BYTES = 64 << 20
"""Size in bytes from which the log is rotated."""
_CONF = "--conf="
_SHELL = 'echo $$ >"$0" && exec "$@"'
"""Shell command that writes the process id before the program begins, even if the server dies
meanwhile."""


def _machine() -> str:
    return hashlib.sha256(process_space().encode()).hexdigest()[:8]


def _send(send: Callable[[int, int], None], target: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        send(target, number)


def _divided(options: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The options that may stand on the command line, and the settings. Settings may hold
    secrets, and every user of the machine can see command lines."""
    settings: dict[str, str] = {}
    others: list[str] = []
    for option in options:
        key, equals, value = option.removeprefix(_CONF).partition("=")
        if option.startswith(_CONF) and equals:
            settings[key] = value
        else:
            others.append(option)
    return others, settings


class JobProcess:
    """The process of one job, if it has one, and the job's directory.

    Args:
        directory: directory of this job alone. Other machines may see it, so the names of lock
            and process files contain the machine: locks and process ids are valid only there.
        command: command line that starts ``millrace``.
        defaults: settings that those of the program override.
    """

    def __init__(
        self,
        directory: Path,
        command: Sequence[str] = COMMAND,
        defaults: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.directory = directory
        self.log = directory / "log.txt"
        self._failure = directory / "failure.txt"
        self._exit = directory / "exit.json"
        self._command = tuple(command)
        self._defaults = dict(defaults)
        self._lock = directory / f"process-{_machine()}.lock"
        self._pid = directory / f"process-{_machine()}.pid"
        self._child: subprocess.Popen[bytes] | None = None
        self._looking = Lock()
        """Held while this server tests the file lock: a test takes the lock for an instant, which
        must not make a start fail."""

    def start(self, submission: Submission, token: int = 0) -> int | None:
        """Start the process and return its id; None if the job already has one.

        Args:
            token: the fencing token of the server, which the process has from then on.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._looking:
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._failure.unlink(missing_ok=True)
                self._exit.unlink(missing_ok=True)
                self._pid.unlink(missing_ok=True)  # the number may be another process's by now
                self._child = self._spawn(submission, lock, token)
            except BlockingIOError:
                return None
            finally:
                os.close(lock)  # the child has it now
            return self._child.pid

    def _spawn(self, submission: Submission, lock: int, token: int) -> subprocess.Popen[bytes]:
        words = ["run", "--resume"]
        words += [f"--name={submission.name}"] if submission.name else []
        # last, so that it is this one that holds
        options, settings = _divided(submission.options)
        words += [*options, f"--conf={CONTROL_DIR.key}={self.directory}"]
        words += [submission.program, *submission.arguments]
        before = {RAN_BEFORE: "1"} if self.log.exists() else {}
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            return subprocess.Popen(
                ["/bin/sh", "-c", _SHELL, str(self._pid), *self._command, *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={
                    **os.environ,
                    FENCING_TOKEN: str(token),
                    FENCE: str(self.directory),
                    RUN_LOG: str(self.log),
                    FAILURE_REPORT: str(self._failure),
                    EXIT_NOTE: str(self._exit),
                    SETTINGS_VARIABLE: json.dumps(settings),
                    DEFAULTS_VARIABLE: json.dumps(self._defaults),
                    **before,
                },
                pass_fds=(lock,),
                start_new_session=True,
            )
        finally:
            os.close(output)

    def is_alive(self) -> bool:
        """Whether the job has a process, started by this server or by an earlier one."""
        with self._looking, suppress(FileNotFoundError):
            descriptor = os.open(self._lock, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            finally:
                os.close(descriptor)
        return False

    def pid(self) -> int | None:
        """The id of the process; None if there is none."""
        if not self.is_alive():
            return None
        try:
            return int(self._pid.read_text())
        except (OSError, ValueError):  # it has hardly begun
            return None

    def exit_code(self, pid: int) -> int | None:
        """Exit code of a process that this server started, as in `subprocess`; None if another
        server started it or it still runs."""
        child = self._child
        return child.poll() if child is not None and child.pid == pid else None

    def exit_note(self) -> ExitNote | None:
        """The note that the last process wrote about its end, whichever server started it."""
        return read_exit_note(self._exit)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process. SIGKILL is sent to its whole process group and to its
        descendants, because the JVM has a session of its own and would live on for a while.
        """
        pid = self.pid()
        if pid is None:
            return
        if number is not signal.SIGKILL:
            _send(os.kill, pid, number)
            return
        started = descendants(pid)  # whose parent it is no longer when it is dead
        _send(os.killpg, pid, number)
        for process in started:
            _send(os.kill, process, number)

    def fence(self, token: int) -> None:
        """Forbid processes with a smaller fencing token to publish, on every machine.

        Raises:
            LeaseLostError: there is a leader with a newer fencing token.
            CheckpointError: its directory cannot be reached.
        """
        Fence(self.directory).raise_to(token)

    # -- what the process has written ------------------------------------------------------------

    def job_directory(self) -> Path | None:
        """Directory of the job's checkpoints; None before the first job begins. If the job file
        runs several jobs, it is the directory of the last job.
        """
        starts = [(record.since, path) for path, record in self._records()]
        return max(starts)[1] if starts else None

    def record(self) -> JobRecord | None:
        """The record of the job's last run."""
        directory = self.job_directory()
        return None if directory is None else read_record(directory)

    def archive(self) -> ArchivedJob | None:
        """The job's own report about itself."""
        directory = self.job_directory()
        return None if directory is None else read_archive(directory)

    def mailbox(self) -> Mailbox | None:
        """The mailbox of the job."""
        directory = self.job_directory()
        return None if directory is None else Mailbox(directory)

    def rotate_log(self) -> None:
        """Start a new log if the log is long; its former content goes to ``log.txt.1``. The
        process continues to append at the new end. Lines that are written during the rotation
        are lost."""
        try:
            if self.log.stat().st_size < LOG_BYTES:
                return
            former = self.log.with_name(f"{self.log.name}.1")
            try:
                shutil.copyfile(self.log, former)
                former.chmod(0o600)
            except OSError as error:  # the disk may be full, of this log
                log.warning("the old content of %s cannot be kept: %s", self.log, error)
                former.unlink(missing_ok=True)
            os.truncate(self.log, 0)
        except OSError as error:
            log.warning("the log %s cannot be emptied: %s", self.log, error)

    def failure(self, length: int = 16_000) -> str:
        """The program's error, as people see it; if there is none, the end of the program's
        output."""
        with suppress(OSError):
            told = self._failure.read_text(encoding="utf-8", errors="replace")
            if told.strip():
                return told if len(told) <= length else f"...{told[-length:]}"
        return self.log_tail()

    def log_tail(self, length: int = 4_000) -> str:
        """The end of the process's output."""
        with suppress(OSError), self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - length))
            return readable(file.read(length).decode(errors="replace"))
        return ""

    def _records(self) -> list[tuple[Path, JobRecord]]:
        try:
            below = [Path(entry.path) for entry in os.scandir(self.directory) if entry.is_dir()]
        except OSError:
            return []
        return [(path, record) for path in below if (record := read_record(path)) is not None]
