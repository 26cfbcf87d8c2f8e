"""``millrace savepoint sql``: ask a savepoint in SQL."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command
from millrace.cli.commands.savepoint_paths import resolved

FORMATS = ("table", "json", "csv")


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "sql",
        handle,
        "ask a savepoint or checkpoint in SQL",
        "Ask a savepoint or checkpoint in Spark's SQL. Each state is a view, called "
        "<operator uid>_<state>; SHOW TABLES lists them with their columns.",
    )
    parser.add_argument(
        "path", metavar="PATH", help="its path, the first digits of its id, or a job's directory"
    )
    parser.add_argument(
        "query", metavar="QUERY", nargs="?", default="SHOW TABLES", help="default: SHOW TABLES"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="how to answer (default: table)"
    )


def handle(named: argparse.Namespace, argv: Sequence[str]) -> int:
    """Ask, and print the answer."""
    path = resolved(named.path)
    from millrace.cli.query_output import print_answer
    from millrace.spark.session import active_context, create_session
    from millrace.state.checkpoint.snapshot import snapshot_metadata
    from millrace.state_processor import SavepointReader

    snapshot_metadata(path)  # a wrong path is told before Spark has started
    running = active_context() is not None
    spark = create_session("millrace savepoint sql", parallelism=0, master="local[*,4]")
    try:
        answer = SavepointReader.read(spark, path).sql(named.query)
        print_answer(answer, "json" if named.json else named.format)
    finally:
        if not running:
            spark.stop()
    return 0
