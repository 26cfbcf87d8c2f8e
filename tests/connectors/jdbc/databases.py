"""Databases of real servers, and a file of SQLite, for tests of the JDBC connector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from millrace.common import Types
from millrace.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from millrace.connectors.jdbc.session import JdbcSession
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

T = TypeVar("T")
COUNT = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


class Database:
    """An empty database.

    Args:
        url: with user and password.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.kind = url.partition(":")[0]
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        self.options = builder.with_url(url).build()
        self._session = JdbcSession(self.options)

    def run(self, *statements: str) -> None:
        """Execute statements."""

        def work(connection: Any) -> None:
            for statement in statements:
                connection.exec_driver_sql(statement)

        self._session.transaction(work, retries=3)

    def ask(self, work: Callable[[Any], T]) -> T:
        """What some work on a connection gives."""
        return self._session.transaction(work, retries=3)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives."""
        return self.ask(lambda connection: list(map(tuple, connection.exec_driver_sql(query))))

    def create_counts(self) -> None:
        """The table ``counts`` of words, and how often."""
        self.run("CREATE TABLE counts (word varchar(40) NOT NULL PRIMARY KEY, n bigint)")

    def counts(self) -> dict[str, int]:
        """What is in it."""
        return dict(self.rows("SELECT word, n FROM counts"))  # type: ignore[arg-type]

    def count_sink(
        self, exactly_once: bool = True, batch_size: int = 50, retries: int = 3
    ) -> JdbcSink:
        """A sink to it, of `COUNT`."""
        options = JdbcExecutionOptions.builder().with_batch_size(batch_size)
        execution = options.with_max_retries(retries).build()
        builder = JdbcSink.builder().with_table("counts").with_type_info(COUNT)
        builder.with_key("word").with_execution_options(execution)
        if exactly_once:
            return builder.build_exactly_once(self.options)
        return builder.build_at_least_once(self.options)

    def close(self) -> None:
        self._session.close()


def write(values: Sequence[Any], sink: JdbcSink, parallelism: int = 2, **local: Any) -> None:
    """A job that writes the values."""
    with run_local(**local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        env.enable_checkpointing(1)
        env.from_collection(list(values)).rebalance().sink_to(sink)
        env.execute("write")
