"""``millrace run``: the steps around a job file, from the first log line to the exit code."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from millrace.cli.arguments import RunArguments
from millrace.cli.failure_report import failure_report, from_spark
from millrace.cli.imports import (
    add_import_paths,
    archive_siblings,
    inherit_import_paths,
    is_local,
    modules_of,
)
from millrace.cli.interrupts import Interrupts
from millrace.cli.log_rotation import rotated
from millrace.cli.run_log import open_run_log, prints_in_log
from millrace.cli.signals import INTERRUPTED, TERMINATED, Terminated
from millrace.cli.state_directory import CHECKPOINTS, SAVEPOINTS, state_directory
from millrace.cli.terminal import Terminal, sharing_stdout
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.errors import JobCancelledError
from millrace.runtime.logs import logging_options
from millrace.runtime.logs.log_settings import FAILURE_REPORT
from millrace.state.backend.scratch_directory import scratch_directory

FINISHED, FAILED = 0, 1

log = logging.getLogger(__name__)


def run(arguments: RunArguments) -> int:
    """Run the job file and return the exit code."""
    with prints_in_log():
        return _run(arguments)


def _run(arguments: RunArguments) -> int:
    terminal = Terminal()
    state = state_directory()
    as_json = arguments.effective.get(logging_options.FORMAT) == "json"
    log_path = open_run_log(state / "logs", arguments.job, terminal, as_json)
    with rotated(log_path), scratch_directory() as scratch:
        settings = _prepare_imports(arguments, Path(scratch))
        if arguments.remote is None:
            _start_jvm(Configuration(arguments.defaults).add_all(settings), log_path)
        interrupts = Interrupts(terminal)
        _install_launcher(arguments, settings, state, terminal, interrupts)
        with interrupts.installed(), sharing_stdout(terminal):
            return _Outcome(arguments, terminal, interrupts, log_path).of(
                lambda: _run_to_end(arguments, interrupts)
            )


def _prepare_imports(arguments: RunArguments, scratch: Path) -> Configuration:
    """Make modules importable here and in the workers; return the settings with the files that
    Spark ships.

    Raises:
        UsageError: two modules have one name.
    """
    settings = Configuration(arguments.settings)
    if arguments.py_files:
        modules_of(arguments.functions or arguments.job, arguments.py_files)
    entries = add_import_paths(arguments.job, arguments.py_files)
    if arguments.remote is None and is_local(arguments.master):
        inherit_import_paths(entries)
        return settings
    shipped = [str(path.resolve()) for path in arguments.py_files]
    archive = scratch / "job_modules.zip"
    if archive_siblings(arguments.functions or arguments.job, archive):
        shipped.append(str(archive))
    named = arguments.effective.get_string("spark.submit.pyFiles")
    if named:
        shipped.append(named)
    if shipped:
        settings.set_string("spark.submit.pyFiles", ",".join(shipped))
    return settings


def _start_jvm(settings: Configuration, log_path: Path) -> None:
    from millrace.spark.gateway import LOG_VARIABLE, launch_early, preload
    from millrace.spark.session import spark_settings

    os.environ[LOG_VARIABLE] = str(log_path)
    pairs = settings.to_dict()
    extra = {key: value for key, value in pairs.items() if key.startswith("spark.")}
    launch_early(spark_settings(extra))
    preload()


def _install_launcher(
    arguments: RunArguments,
    settings: Configuration,
    state: Path,
    terminal: Terminal,
    interrupts: Interrupts,
) -> None:
    from millrace.cli.launcher import CommandLineLauncher
    from millrace.datastream.job_launcher import JobLauncher

    own_dir = settings.get(options.CONTROL_DIR) or str(state / CHECKPOINTS)
    places = {
        options.CHECKPOINTING_DIR.key: own_dir,
        options.SAVEPOINT_DIR.key: str(state / SAVEPOINTS),
    }
    defaults = Configuration(places).marked(SettingOrigin.DEFAULT).add_all(arguments.defaults)
    launcher = CommandLineLauncher(
        settings=settings,
        defaults=defaults,
        own_dir=own_dir,
        resume=arguments.resume,
        terminal=terminal,
        interrupts=interrupts,
        arguments=arguments,
    )
    JobLauncher.install(launcher)


def _run_to_end(arguments: RunArguments, interrupts: Interrupts) -> None:
    run_job_file(arguments.job, arguments.job_arguments)
    for client in interrupts.running():
        client.result()


class _Outcome:
    """Result of a job file: the message and the exit code."""

    def __init__(
        self,
        arguments: RunArguments,
        terminal: Terminal,
        interrupts: Interrupts,
        log_path: Path,
    ) -> None:
        self._arguments = arguments
        self._terminal = terminal
        self._interrupts = interrupts
        self._log_path = log_path

    def of(self, work: Callable[[], None]) -> int:
        """Run a function and return its exit code."""
        try:
            work()
        except Terminated as end:
            return self._interrupted(str(end), TERMINATED)
        except SystemExit as end:
            return self._exit_code(end)
        except KeyboardInterrupt:
            return self._interrupted("interrupted")
        except JobCancelledError as end:
            if self._interrupts.cancelling:
                return self._interrupted("the job was stopped immediately")
            if self._interrupts.stopping:
                return self._stopped()
            return self._ended_from_outside(end)
        except Exception as error:
            if (signalled := signal_behind(error)) is not None:
                return self._interrupted(*signalled)
            return self._failed(error)
        if self._interrupts.stopping:
            return self._stopped()
        for path in self._interrupts.final_savepoints():
            self._terminal.say(f"the job has ended with the savepoint {path}")
        return FINISHED

    def _exit_code(self, end: SystemExit) -> int:
        if end.code is None or isinstance(end.code, int):
            return end.code or FINISHED
        self._terminal.write(f"{end.code}\n")
        _keep_report(str(end.code))
        return FAILED

    def _stopped(self) -> int:
        self._terminal.say("the job was stopped")
        self._say_how_to_resume()
        return FINISHED

    def _ended_from_outside(self, end: JobCancelledError) -> int:
        self._terminal.say(str(end))
        self._say_how_to_resume()
        return FINISHED

    def _interrupted(self, what: str, code: int = INTERRUPTED) -> int:
        self._terminal.say(what)
        self._say_how_to_resume()
        return code

    def _failed(self, error: BaseException) -> int:
        log.error("the job file failed", exc_info=error)
        report = failure_report(error).rstrip("\n")
        self._terminal.say(report)
        _keep_report(report)
        self._terminal.write("\n")
        self._say_how_to_resume()
        if not _is_supervised():
            self._terminal.say(f"the log is {self._log_path}")
        return FAILED

    def _say_how_to_resume(self) -> None:
        if _is_supervised():
            return
        hint = self._interrupts.resume_hint(self._arguments.resume_command())
        if hint is not None:
            self._terminal.say(hint)


def signal_behind(error: BaseException) -> tuple[str, int] | None:
    """Message and exit code for a signal that made PySpark fail; None if there was no signal.

    PySpark tidies up when an exception of a signal comes while it talks to the JVM. If the
    connection is broken by then, this fails, too, and hides the signal.
    """
    if not from_spark(error):
        return None
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Terminated):
            return str(cause), TERMINATED
        if isinstance(cause, KeyboardInterrupt):
            return "interrupted", INTERRUPTED
        cause = cause.__cause__ or cause.__context__
    return None


def _is_supervised() -> bool:
    """Whether a server supervises the job, so that advice for people is left out."""
    return FAILURE_REPORT in os.environ


def _keep_report(report: str) -> None:
    """Write the failure's report for the process that started this one."""
    path = os.environ.get(FAILURE_REPORT)
    if path is not None:
        with suppress(OSError):  # it is in the log, too
            Path(path).write_text(report, encoding="utf-8", errors="backslashreplace")


def run_job_file(path: Path, arguments: Sequence[str]) -> None:
    """Execute the file as ``__main__``, with its arguments in ``sys.argv``.

    The module stays ``__main__`` when the file has been read to its end (`runpy` would take it
    away): a job may still be running in the background, and its classes are found there.
    """
    sys.argv = [str(path), *arguments]
    with io.open_code(str(path)) as file:
        code = compile(file.read(), str(path), "exec")
    module = ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)
