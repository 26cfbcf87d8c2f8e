"""``millrace savepoint sql``: queries a savepoint in SQL."""

from __future__ import annotations

import argparse
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from millrace.cli.commands.grammar import Commands, add_command
from millrace.cli.commands.savepoint_paths import add_allow_pickle, reader_of
from millrace.common.errors import MillraceError

FORMATS = ("table", "json", "csv")


def register(commands: Commands) -> None:
    """Add ``millrace savepoint sql`` to the parser."""
    parser = add_command(
        commands,
        "sql",
        handle,
        "query a savepoint or checkpoint in SQL",
        "Query a savepoint or checkpoint in Spark SQL. Each state is a view with the name "
        "<operator uid>_<state>; SHOW TABLES lists the views with their columns.",
    )
    parser.add_argument(
        "path", metavar="PATH", help="its path, the first digits of its id, or a job's directory"
    )
    parser.add_argument(
        "query", metavar="QUERY", nargs="?", default="SHOW TABLES", help="default: SHOW TABLES"
    )
    add_allow_pickle(parser)
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="format of the result (default: table)"
    )


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run the query and print its result."""
    from millrace.cli.failure_report import from_spark, spark_reason
    from millrace.cli.query_output import print_frame, print_rows
    from millrace.state_processor import SavepointReader
    from millrace.state_processor.state_views import (
        VIEW_COLUMNS,
        is_show_tables,
        state_views,
        view_rows,
    )

    reader = reader_of(args.path, args.allow_pickle)
    style = "json" if args.json else args.format
    if is_show_tables(args.query):  # answered without starting Spark
        print_rows(VIEW_COLUMNS, view_rows(state_views(reader.states())), style)
        return 0
    with _local_spark() as spark:
        try:
            print_frame(SavepointReader(spark, reader).sql(args.query), style)
        except Exception as error:
            if isinstance(error, MillraceError) or not from_spark(error):
                raise
            raise MillraceError(f"the query failed: {spark_reason(error)}") from None
    return 0


@contextmanager
def _local_spark() -> Iterator[Any]:
    """A Spark session: the active one, or a local one with a hidden log."""
    from millrace.spark.gateway import LOG_VARIABLE
    from millrace.spark.session import active_context, create_session
    from millrace.state.backend.scratch_directory import scratch_directory

    if active_context() is not None:
        yield create_session("millrace savepoint sql", parallelism=1)
        return
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    with scratch_directory() as directory:
        os.environ.setdefault(LOG_VARIABLE, os.path.join(directory, "spark.log"))
        settings = {"spark.sql.warehouse.dir": os.path.join(directory, "warehouse")}
        logging.disable(logging.ERROR)  # PySpark logs the errors that it also raises
        # local[*] makes one attempt per task: another would only repeat the query's error
        spark = create_session("millrace savepoint sql", 1, "local[*]", settings)
        try:
            yield spark
        finally:
            logging.disable(logging.NOTSET)
            spark.stop()
