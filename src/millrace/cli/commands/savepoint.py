"""``millrace savepoint``: takes a savepoint of a running job, and manages savepoints.

``millrace savepoint JOB`` takes one; after ``savepoint`` the name of a subcommand means that one,
so a job of such a name is given as ``--job NAME``.
"""

from __future__ import annotations

from collections.abc import Sequence

from millrace.cli.arguments import UsageError
from millrace.cli.commands import (
    savepoint_diff,
    savepoint_dispose,
    savepoint_list,
    savepoint_show,
    savepoint_sql,
    savepoint_take,
    savepoint_tree,
)
from millrace.cli.commands.grammar import EPILOG, Commands

GROUP = {
    savepoint_take.NAME: savepoint_take,
    "list": savepoint_list,
    "tree": savepoint_tree,
    "show": savepoint_show,
    "diff": savepoint_diff,
    "sql": savepoint_sql,
    "dispose": savepoint_dispose,
}
"""Modules of the commands by name; each has ``register(commands)``."""
_HELP = ("-h", "--help")


def register(commands: Commands) -> None:
    """Add the command with its subcommands."""
    parser = commands.add_parser(
        "savepoint",
        help="take a savepoint of a running job, or manage savepoints",
        usage="millrace savepoint JOB [DIR] | millrace savepoint COMMAND ...",
        description=(
            "Take a savepoint of a running job: millrace savepoint JOB [DIR]. Or manage "
            "existing savepoints: millrace savepoint COMMAND ..."
        ),
        epilog=EPILOG,
    )
    group = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", prog="millrace savepoint"
    )
    for module in GROUP.values():
        module.register(group)


def with_subcommand(argv: Sequence[str]) -> list[str]:
    """The command line with the subcommand inserted, which people may leave out.

    Raises:
        UsageError: the name of a subcommand is where a job's belongs.
    """
    words = list(argv)
    if words[:1] != ["savepoint"] or len(words) < 2 or words[1] in (*GROUP, *_HELP):
        return words
    named = next((word for word in words[1:] if not word.startswith("-")), None)
    if named in GROUP and not any(word.startswith("--job") for word in words[1:]):
        raise UsageError(
            f"write 'millrace savepoint {named}' before its options; for a job with this "
            f"name, write --job {named}"
        )
    return ["savepoint", savepoint_take.NAME, *words[1:]]
