"""The grammar of the ``millrace`` command: one module per command adds its own part."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace import __version__
from millrace.cli.commands import (
    cancel,
    checkpoint,
    doctor,
    info,
    list_jobs,
    logs,
    rescale,
    run,
    savepoint,
    server,
    sql,
    stacks,
    status,
    stop,
    top,
)
from millrace.cli.helpful_parser import HelpfulParser

COMMANDS = (
    run,
    server,
    sql,
    list_jobs,
    status,
    info,
    top,
    logs,
    stacks,
    checkpoint,
    savepoint,
    stop,
    cancel,
    rescale,
    doctor,
)


def create_parser() -> argparse.ArgumentParser:
    """The parser; its namespaces have a ``handler`` (namespace, argv) -> exit code."""
    parser = HelpfulParser(
        prog="millrace", description="Event streams with state and event time, on Apache Spark."
    )
    parser.add_argument("--version", action="version", version=f"millrace {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.register(commands)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of ``millrace`` without its own name.

    Raises:
        SystemExit: as argparse does, with 2 for wrong options and 0 for ``--help``.
        UsageError: a word could mean two things.
    """
    parser = create_parser()
    named, unknown = parser.parse_known_args(savepoint.with_subcommand(argv))
    if unknown:
        named.parser.refuse(unknown)
    return named
