"""Arguments that several commands share, and the declaration of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from millrace.cli.arguments import UsageError, location

if TYPE_CHECKING:
    from millrace.cli.server_client import ServerClient

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Handler = Callable[[argparse.Namespace, Sequence[str]], int]

EPILOG = "exit codes: 0 success, 1 failure, 2 wrong usage"
DEFAULT_TIMEOUT = 300.0


def add_command(
    commands: Commands, name: str, handler: Handler, short: str, description: str = ""
) -> argparse.ArgumentParser:
    """Add a command with the option ``--json``."""
    parser = commands.add_parser(
        name,
        help=short,
        description=description or f"{short[0].upper()}{short[1:]}.",
        epilog=EPILOG,
    )
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    parser.set_defaults(handler=handler)
    return parser


def add_checkpoint_dir(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--checkpoint-dir``."""
    parser.add_argument(
        "--checkpoint-dir",
        metavar="D",
        type=location,
        help=(
            "directory in which jobs keep their checkpoints (default: under your state directory)"
        ),
    )


def add_server(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a job server and how to reach it."""
    parser.add_argument(
        "--server",
        metavar="URL",
        help="ask this job server: a URL, or the directory of a server on this machine",
    )
    parser.add_argument(
        "--token-file",
        metavar="F",
        type=location,
        help=(
            "file with the server's token (default: from MILLRACE_TOKEN, or from the file that "
            "your own server has written)"
        ),
    )
    parser.add_argument(
        "--ca-file",
        metavar="F",
        type=location,
        help=(
            "certificates with which a server is checked, as PEM (default: those of this machine)"
        ),
    )


def server_client(args: argparse.Namespace) -> ServerClient:
    """A client of the server that the arguments name."""
    from millrace.cli.server_client import ServerClient, server_address
    from millrace.cli.state_directory import state_directory

    own = state_directory() / "server"
    return ServerClient(server_address(args.server, args.token_file, own), args.ca_file)


def add_job(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the job, ``--server`` and ``--timeout``."""
    parser.add_argument(
        "name", metavar="JOB", nargs="?", help="the job's name, its id, or its directory"
    )
    parser.add_argument("--job", metavar="NAME", help="the job, for names that look like options")
    add_checkpoint_dir(parser)
    add_server(parser)
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=_seconds,
        default=DEFAULT_TIMEOUT,
        help="seconds to wait for the job (default: 300)",
    )


def job_name(args: argparse.Namespace) -> str:
    """The job's name, id or directory, as given.

    Raises:
        UsageError: none is named, two are, or the name is empty.
    """
    if (args.name is None) == (args.job is None):
        raise UsageError(
            "no job is named; 'millrace list' shows the jobs"
            if args.name is None
            else f"two jobs are named: {args.name} and --job {args.job}"
        )
    word = str(args.job if args.name is None else args.name)
    if not word.strip():
        raise UsageError("the job's name is empty; 'millrace list' shows the jobs")
    return word


def checkpoint_dir(args: argparse.Namespace) -> Path:
    """The directory of jobs' checkpoints."""
    from millrace.cli.state_directory import default_checkpoint_dir

    directory: Path | None = args.checkpoint_dir
    if directory is None:
        return default_checkpoint_dir()
    if not directory.is_dir():
        raise UsageError(f"--checkpoint-dir: there is no directory {directory}")
    return directory


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError
    return seconds
