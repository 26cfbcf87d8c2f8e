"""``millrace sql``: executes SQL from the terminal, a file or standard input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.cli.commands.grammar import Commands
from millrace.common.errors import MillraceError
from millrace.common.installation import missing_package

if TYPE_CHECKING:
    from millrace.cli.sql_client.client import SqlClient

DONE, FAILED = 0, 1


def register(commands: Commands) -> None:
    """Add ``millrace sql`` to the parser."""
    parser = commands.add_parser(
        "sql",
        help="type SQL statements, or run a file of statements",
        description=(
            "Execute statements of Flink SQL: typed, from a file, or from standard input. "
            "(millrace savepoint sql queries a savepoint.)"
        ),
        epilog="exit codes: 0 done, 1 a statement or a job failed, 2 wrong usage, 130 interrupted, "
        "143 ended by SIGTERM",
    )
    parser.set_defaults(handler=handle)
    parser.add_argument("-f", "--file", type=Path, metavar="FILE", help="run a file, and end")
    parser.add_argument(
        "-i", "--init", type=Path, metavar="FILE", help="run a file before all other statements"
    )
    parser.add_argument("--batch", action="store_true", help="queries over bounded tables")


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run the SQL session; exit code 1 if a statement of a file or of standard input failed."""
    client = _client(args)
    try:
        if args.init is not None and not client.execute_file(args.init):
            return FAILED
        if args.file is None and sys.stdin.isatty():
            _converse(client)
            return DONE
        if args.file is not None:
            done = client.execute_file(args.file)
        else:
            done = client.execute_all(sys.stdin.read(), "standard input")
        return DONE if done and client.wait() else FAILED
    finally:
        client.close()


def _client(args: argparse.Namespace) -> SqlClient:
    try:
        from millrace.cli.sql_client.client import RESUME_ADVICE, SqlClient
        from millrace.datastream.job_launcher import JobLauncher
        from millrace.table import EnvironmentSettings, TableEnvironment
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    if JobLauncher.current().executor is None:
        JobLauncher.install(JobLauncher(beside=True))
    JobLauncher.current().resume_advice = RESUME_ADVICE
    JobLauncher.current().tells_failures = False  # the client tells of its jobs itself
    settings = EnvironmentSettings.new_instance()
    t_env = TableEnvironment.create(
        (settings.in_batch_mode() if args.batch else settings.in_streaming_mode()).build()
    )
    interactive = args.file is None and sys.stdin.isatty()
    return SqlClient(t_env, "table" if interactive and sys.stdout.isatty() else "tableau")


def _converse(client: SqlClient) -> None:
    try:
        from millrace.cli.sql_client.prompt import converse
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    from millrace.cli.state_directory import state_directory

    print("millrace sql: statements end with ';', HELP; tells more, QUIT; leaves")
    converse(client, state_directory() / "sql_history")


def _missing(error: ModuleNotFoundError) -> MillraceError:
    return MillraceError(missing_package("millrace sql needs", error.name, "sql-client"))
