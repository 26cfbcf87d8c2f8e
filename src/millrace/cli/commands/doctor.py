"""``millrace doctor``: checks whether jobs can run here and on the cluster, and suggests
remedies."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from millrace.cli.arguments import UsageError, add_settings, port, require_known
from millrace.cli.commands.grammar import Commands, add_command
from millrace.common.errors import ConfigurationError

if TYPE_CHECKING:
    from millrace.cli.doctor.diagnosis import Diagnosis
    from millrace.common.config.configuration import Configuration

DONE, FAILED = 0, 1


def register(commands: Commands) -> None:
    """Add ``millrace doctor`` to the parser."""
    parser = add_command(
        commands,
        "doctor",
        handle,
        "check this machine, the cluster and the checkpoint directory",
        "Check Java, Python, packages, clocks, disks, memory and the checkpoint directory, "
        "here and on the workers of a Spark master, with the options of the planned run. "
        "Each problem is shown with its remedy.",
    )
    parser.add_argument("--master", metavar="URL", help="Spark master (default: local)")
    parser.add_argument(
        "--checkpoint-dir",
        metavar="D",
        help=(
            "directory in which jobs keep their checkpoints (default: under your state directory)"
        ),
    )
    add_settings(parser, "a setting of the run, as for 'millrace run'")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the server's address (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=port, default=8081, help="the server's port (default: 8081)")
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=120.0,
        help="seconds for the workers to answer (default: 120)",
    )


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run the checks; exit code 1 if a problem keeps jobs from running."""
    from millrace.cli.doctor.diagnosis import Severity
    from millrace.cli.doctor.report import lines_of
    from millrace.cli.printing import print_json, print_lines

    results: list[Diagnosis] = []

    def seen() -> Iterator[Diagnosis]:
        for result in _examined(args):
            results.append(result)
            yield result

    if args.json:
        list(seen())
        print_json([result.to_dict() for result in results])
    else:
        print_lines(lines_of(seen()))
    return FAILED if any(result.severity is Severity.FAILURE for result in results) else DONE


def _examined(args: argparse.Namespace) -> Iterator[Diagnosis]:
    from millrace.cli.doctor.examination import Examination
    from millrace.cli.state_directory import default_checkpoint_dir
    from millrace.common.config import options

    configuration = _configuration(args)
    directory = configuration.get(options.CHECKPOINTING_DIR) or str(default_checkpoint_dir())
    _keep_log()
    yield from Examination(configuration, directory, args.host, args.port, args.timeout).results()


def _configuration(args: argparse.Namespace) -> Configuration:
    from millrace.common.config import options
    from millrace.common.config.configuration import Configuration

    values = dict(args.conf)
    given = {"spark.master": args.master, options.CHECKPOINTING_DIR.key: args.checkpoint_dir}
    values.update({key: value for key, value in given.items() if value is not None})
    configuration = Configuration(values)
    try:
        configuration.validate()
    except ConfigurationError as error:
        raise UsageError(str(error)) from None
    for key in values:
        require_known(key)
    return configuration


def _keep_log() -> None:
    """Send Spark's log to a file, away from the results."""
    from millrace.cli.state_directory import state_directory
    from millrace.filesystem.local_file_system import LocalFileSystem
    from millrace.spark.gateway import LOG_VARIABLE

    logs = state_directory() / "logs"
    LocalFileSystem().make_directory(str(logs), durable=False)
    os.environ.setdefault(LOG_VARIABLE, str(logs / "doctor.log"))
