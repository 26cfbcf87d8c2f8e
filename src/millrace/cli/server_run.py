"""``millrace run --server``: sends a job file to a job server, and follows the job."""

from __future__ import annotations

import argparse
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from millrace.cli.arguments import UsageError, environment_settings, no_file, require_known
from millrace.cli.commands.grammar import server_client
from millrace.cli.commands.job_request import say_waiting
from millrace.cli.imports import modules_of
from millrace.cli.served_job import ServedJob, find_served_job
from millrace.cli.server_client import ServerAwayError, ServerClient
from millrace.cli.signals import INTERRUPTED
from millrace.cli.terminal import Terminal
from millrace.common.config import options
from millrace.common.errors import JobControlError
from millrace.common.job import JobStatus
from millrace.spark.connect.remote import SETTING

__all__ = ["packed_program", "run_on_server", "run_request"]

T = TypeVar("T")
POLL = 0.5
"""Seconds between two looks at the job."""
PATIENCE = 60.0
"""Seconds in which a server that is away may come back, or another one take over."""
FINISHED, FAILED = 0, 1


def run_on_server(args: argparse.Namespace, functions: Path | None = None) -> int:
    """Send the job file to the server; unless detached, show its log until the job has ended.

    Args:
        functions: Python file with the functions of a module; None if there is none.

    Raises:
        UsageError: options do not go together with a server.
        JobControlError: the server refuses, or does not answer.
    """
    request = run_request(args)
    client, terminal = server_client(args), Terminal()
    with tempfile.TemporaryDirectory(prefix="millrace-") as scratch:
        archive = packed_program(args.job, args.py_files, Path(scratch), functions)
        program = client.upload(archive, archive.name)
    id = client.post(f"/jars/{program}/run", request)["jobid"]
    terminal.say(f"the server at {client.address.url} runs it as job {id}")
    if args.detached:
        print(id)
        return FINISHED
    try:
        return _follow(client, find_served_job(client, id), terminal)
    except KeyboardInterrupt:
        terminal.say(f"the job continues; to end it: millrace cancel --server {args.server} {id}")
        return INTERRUPTED


def run_request(args: argparse.Namespace) -> dict[str, Any]:
    """The body of the request to run an uploaded program.

    Raises:
        UsageError: options do not go together with a server.
    """
    for given, name in (
        (args.checkpoint_dir, "--checkpoint-dir"),
        (args.resume, "--resume"),
        (args.progress, "--progress"),
        (args.config, "--config"),
    ):
        if given:
            raise UsageError(
                f"{name} cannot be combined with --server, because the server manages this itself"
            )
    if not args.job.is_file():
        raise UsageError(no_file(args.job))
    settings = {**environment_settings(), **dict(args.conf)}
    for key in settings:
        require_known(key)
    given = {
        "spark.master": args.master,
        SETTING: args.remote,
        options.CHECKPOINTING_INTERVAL.key: args.checkpoint_interval,
        options.ALLOW_PICKLE.key: "true" if args.allow_pickle else None,
        options.AVAILABLE_NOW.key: "true" if args.available_now else None,
    }
    settings.update({key: value for key, value in given.items() if value is not None})
    request = {
        "entryClass": args.job.name,
        "programArgsList": list(args.arguments),
        "parallelism": _whole(args.parallelism),
        "savepointPath": args.from_savepoint,
        "allowNonRestoredState": args.allow_non_restored_state or None,
        "claimMode": args.claim_mode,
        "jobName": args.name,
        "flinkConfiguration": settings,
    }
    return {key: value for key, value in request.items() if value is not None}


def _whole(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"--parallelism is a whole number, not {text!r}")
    return int(text)


def packed_program(
    job: Path, py_files: Sequence[Path], directory: Path, functions: Path | None = None
) -> Path:
    """An archive with the job file, the modules in its directory and the modules of ``--py-files``.

    Args:
        functions: Python file of a ``module.yaml``. The modules beside this file are those that
            the functions import, here and on a server. What is beside the ``module.yaml`` in
            another directory stays there.

    Raises:
        UsageError: a file of ``--py-files`` is no module, which a server does not take, or has the
            name of another file.
    """
    archive = directory / f"{job.stem}.zip"
    for path in py_files:
        if path.suffix != ".py":
            raise UsageError(
                f"--py-files: a server takes modules (.py), not {path}; install it on its machine"
            )
    modules = modules_of(functions or job, py_files)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for name, path in sorted({**modules, job.name: job.resolve()}.items()):
            out.write(path, name)
    return archive


def _follow(client: ServerClient, job: ServedJob, terminal: Terminal) -> int:
    """Show the job's output until the job has ended, and return the exit code. A failed job
    raises JobControlError."""
    from millrace.cli.printing import printable

    offset, waits = 0, ""
    while True:
        status = JobStatus[_await(lambda: client.get(f"/jobs/{job.id}/status"), terminal)["status"]]
        text, offset = _await(partial(job.log, offset), terminal)
        if text:
            terminal.write(printable(text, keep="\n\t"))
            continue
        if status.is_terminal_state():
            break
        if status is JobStatus.RUNNING:
            reason = _await(lambda: client.get(f"/jobs/{job.id}"), terminal)["waits-for"]
            if reason and reason != waits:
                say_waiting(reason)
            waits = reason
        time.sleep(POLL)
    terminal.say(f"the job has ended: {status.name}{job.failure()}")
    if status is JobStatus.FAILED:
        raise JobControlError(f"see millrace logs --server {client.address.url} {job.id}")
    return FINISHED


def _await(ask: Callable[[], T], terminal: Terminal) -> T:
    """Answer of a server that may be away for a while: a standby takes over in seconds.

    Raises:
        ServerAwayError: the server stays away.
    """
    deadline = time.monotonic() + PATIENCE
    said = False
    while True:
        try:
            return ask()
        except ServerAwayError as error:
            if time.monotonic() > deadline:
                raise
            if not said:
                terminal.say(f"{error}; the job continues, and the server is asked again")
            said = True
            time.sleep(POLL)
