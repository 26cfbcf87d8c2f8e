"""``millrace run``: run a job file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from millrace.cli.arguments import (
    RunArguments,
    UsageError,
    add_run_arguments,
    run_arguments,
)
from millrace.cli.commands.grammar import Commands, add_server

_MODULES = (".yaml", ".yml")
"""Suffixes of modules of Stateful Functions."""
EPILOG = """\
exit codes: 0 the job finished or was stopped as requested, 1 it failed, 2 wrong usage,
130 it was interrupted immediately (second Ctrl-C, or before it began),
143 SIGTERM came before it began"""


def register(commands: Commands) -> None:
    """Add ``millrace run`` to the parser."""
    parser = commands.add_parser(
        "run",
        help="run a job file",
        description="Run a job file on local Spark or on a cluster, or send it to a job server.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_arguments(parser)
    add_server(parser)
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run the job to its end, here or by a server."""
    is_module = args.job.suffix in _MODULES and args.job.is_file()
    if args.server is not None:
        from millrace.cli.server_run import run_on_server

        functions = _functions(args) if is_module else None
        if functions is not None:
            args.arguments = [functions.name]
        return run_on_server(args, functions)
    arguments = _of_module(args, argv) if is_module else run_arguments(args, argv)
    from millrace.cli.run import run

    return run(arguments)


def _of_module(args: argparse.Namespace, argv: Sequence[str]) -> RunArguments:
    from millrace.cli.module_run import module_arguments

    if args.detached:
        raise UsageError("--detached needs --server")
    return module_arguments(args, argv, args.job, _functions(args), ("run",))


def _functions(args: argparse.Namespace) -> Path | None:
    """File of functions of a ``module.yaml``, to whose directory its path is relative; None if the
    module has none.

    Raises:
        UsageError: the arguments are something else, or workers cannot import the file.
    """
    if len(args.arguments) > 1:
        raise UsageError("a module has at most one file of functions; this file can import others")
    if not args.arguments:
        return None
    from millrace.cli.module_run import check_functions

    functions: Path = args.job.parent / args.arguments[0]
    check_functions(functions, "an argument after a module")
    return functions
