"""Launcher of ``millrace run``: checkpoints, progress and interrupts around a job."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from millrace.cli.arguments import RunArguments
from millrace.cli.interrupts import Interrupts
from millrace.cli.printing import printable
from millrace.cli.progress_line import ProgressLine
from millrace.cli.terminal import Terminal
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.restart_strategy import RestartStrategyConfiguration
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.errors import CheckpointError
from millrace.common.job import JobExecutionResult
from millrace.datastream.job_launcher import Handlers, JobLauncher
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.fence import own_fencing_token
from millrace.engine.fresh_start import fresh_start_warning
from millrace.engine.job_config import JobConfig
from millrace.engine.job_details import JobDetails, JobNotice
from millrace.engine.job_identity import RAN_BEFORE, job_id_of
from millrace.engine.lease import Lease
from millrace.filesystem.location import is_local
from millrace.filesystem.registry import resolved
from millrace.job_graph.transformation import Transformation
from millrace.runtime.logs.log_settings import FAILURE_REPORT
from millrace.runtime.logs.worker_notice import without_numbers
from millrace.state.backend.state_backend import StateBackend
from millrace.state.checkpoint.directory import checkpoint_dir, complete_checkpoints
from millrace.state.checkpoint.snapshot import read_snapshot_manifest


@dataclass
class CommandLineLauncher(JobLauncher):
    """Launches the jobs of a job file."""

    terminal: Terminal = field(default_factory=Terminal)
    interrupts: Interrupts = field(default_factory=lambda: Interrupts(Terminal()))
    arguments: RunArguments = field(default_factory=lambda: RunArguments(Path("job.py")))
    own_dir: str | None = None
    """Directory of this machine for checkpoints of jobs that name no other, and for what operates
    jobs whose checkpoints are elsewhere."""
    _names: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.run = self._run_job
        self.beside = True

    def client(
        self,
        sinks: Sequence[Transformation],
        handlers: Handlers,
        configuration: Configuration,
        name: str,
        restart: RestartStrategyConfiguration,
        backend: StateBackend | None = None,
    ) -> EmbeddedJobClient:
        """Client of the next job; the terminal shows its checkpoints."""
        name = self._unique(self.settings.get(options.JOB_NAME) or name)
        asked = configuration.get(options.CHECKPOINTING_DIR)
        configuration = _placed(configuration, self.own_dir)
        line = ProgressLine(self.terminal) if self._shows_progress() else None
        self.listeners = [] if line is None else [line]
        if FAILURE_REPORT not in os.environ:  # else it is for a server, which shows notices itself
            self.listeners.append(NoticeLines(self.terminal))
        directory = configuration.get(options.CHECKPOINTING_DIR)
        starts = configuration.get(options.START_FROM) is not None
        if asked is not None and directory is not None and asked != directory and not starts:
            self._look_for_former_layout(resolved(asked), resolved(directory), job_id_of(name))
        client = super().client(sinks, handlers, configuration, name, restart, backend)
        if line is not None:
            followed = (client.progress,)
            Thread(target=line.follow, args=followed, name="millrace-progress", daemon=True).start()
        self.interrupts.install()
        client.when_done(self.terminal.clear)
        self.interrupts.watch(client)
        return client

    def _unique(self, name: str) -> str:
        """A name that no other job of the file has: jobs of one file must not share checkpoints."""
        self._names[name] += 1
        count = self._names[name]
        return name if count == 1 else f"{name} ({count})"

    def _shows_progress(self) -> bool:
        asked = self.arguments.progress
        return self.terminal.interactive if asked is None else asked

    def announce(self, name: str, job_dir: str, config: JobConfig, collects: bool) -> None:
        """Tell where the job keeps its checkpoints, and from which snapshot the job continues."""
        start = config.start_from
        self.terminal.say(f"job '{name}' keeps its checkpoints in {job_dir}")
        present = complete_checkpoints(job_dir) if config.resume else []
        if present:
            self.terminal.say(f"resuming from checkpoint {present[-1]}")
        elif start is not None:
            self.terminal.say(f"starting from {start}")
            if read_snapshot_manifest(start).manifest.finished:
                self.terminal.say("the job had already finished: nothing is left to do")
        elif config.resume:
            self.terminal.say("there is no checkpoint to resume from: the job starts afresh")
        else:
            warning = fresh_start_warning(job_dir, config, self.arguments.resume_command())
            if warning is not None:
                self.terminal.say(warning)

    def announce_end(self, client: EmbeddedJobClient) -> None:
        """Print nothing yet, because ``millrace run`` tells how to continue when the job file
        has ended."""

    def _look_for_former_layout(self, asked: str, directory: str, job_id: str) -> None:
        """Look for checkpoints in the former layout, in which all jobs of one name shared a
        directory in an object store, so that the owner of a checkpoint is unknown.

        Raises:
            CheckpointError: the job has run before, perhaps there, and would begin anew.
        """
        former, job_dir = f"{asked}/{job_id}", os.path.join(directory, job_id)
        if is_local(job_dir) or Lease.last_owner(job_dir) is not None:
            return
        present = complete_checkpoints(former)
        if not present:
            return
        reason = (
            f"{former} has checkpoints of a job with this name, from a run without a server or "
            "with an older server"
        )
        advice = (
            "to continue from the newest, submit the job with the savepoint path "
            f"{checkpoint_dir(former, present[-1])}"
        )
        if os.environ.get(RAN_BEFORE):
            raise CheckpointError(
                f"{reason}. This job has run before, but in another directory than {job_dir}, so "
                f"it would start without state: {advice}; to start without state, cancel this job "
                "and submit it again"
            )
        self.terminal.say(f"the job starts afresh, though {reason}; {advice}")

    def _run_job(self, client: EmbeddedJobClient) -> JobExecutionResult:
        # in a thread of its own, so that a signal never interrupts the engine
        client.start()
        return client.result()


def _placed(configuration: Configuration, default: str | None) -> Configuration:
    """A job's configuration with the places of its checkpoints and its control directory.

    Args:
        default: directory of checkpoints if the configuration names none.
    """
    checkpoints = configuration.get(options.CHECKPOINTING_DIR)
    control = configuration.get(options.CONTROL_DIR)
    if checkpoints is None:
        return configuration
    placed = Configuration(configuration)
    elsewhere = not is_local(resolved(checkpoints))
    if control is not None and own_fencing_token() is not None:
        # of a job server: its directory is the one that all servers see, and jobs that run one
        # program must not go on from each other's checkpoints
        own = os.path.join(checkpoints, os.path.basename(resolved(control)))
        place = {options.CHECKPOINTING_DIR.key: own if elsewhere else control}
        placed.add_all(Configuration(place).marked(SettingOrigin.SERVER))
    elif control is None and elsewhere and default is not None:
        place = {options.CONTROL_DIR.key: default}
        placed.add_all(Configuration(place).marked(SettingOrigin.DEFAULT))
    return placed


MOST_LINES = 20
"""Maximum number of lines for a job; the log has all."""
_OURS = "millrace."


class NoticeLines:
    """Listener of a job that prints each of Millrace's notices once. Messages that the program's
    functions log are only in the log."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._told: set[tuple[str, str, str | None, str]] = set()

    def __call__(self, details: JobDetails) -> None:
        """Print the notices that are new."""
        for notice in reversed(details.notices):
            text = notice.text if notice.level == "INFO" else without_numbers(notice.text)
            key = (notice.level, notice.logger, notice.operator, text)
            is_new = key not in self._told and notice.logger.startswith(_OURS)
            if is_new and len(self._told) < MOST_LINES:
                self._told.add(key)
                self._terminal.say(notice_line(notice))


def notice_line(notice: JobNotice) -> str:
    """A notice as one line. Warnings name their operator. Control characters are replaced, because
    they may come from records.

    Example:
        >>> notice_line(JobNotice("INFO", "millrace.x", "it listens", "In", (0,), 1, 1, 1))
        'it listens'
        >>> notice_line(JobNotice("WARNING", "millrace.x", "no answer", "Call", (0,), 1, 9, 3))
        "warning of operator 'Call': no answer"
    """
    text = notice.text.partition("\n")[0]
    if notice.level == "INFO":
        return printable(text)
    where = "" if notice.operator is None else f" of operator '{notice.operator}'"
    return printable(f"{notice.level.lower()}{where}: {text}")
