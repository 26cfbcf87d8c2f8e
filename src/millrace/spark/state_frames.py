"""State as DataFrames and back: one Spark task per subtask, rows through Arrow.

Only DataFrames are used, no RDDs and no JVM objects, so this works with Spark Connect as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from millrace.common.errors import MillraceError, StateError
from millrace.common.installation import install_command
from millrace.spark.partition_ids import by_partition_id

__all__ = [
    "answer_rows",
    "collect_from_tasks",
    "default_parallelism",
    "exchange_rows",
    "frame_from_tasks",
    "frame_of_rows",
    "new_session",
    "require_dataframe",
    "run_query",
]

Batch = Any
"""A `pyarrow.RecordBatch`."""


def frame_from_tasks(
    spark: SparkSession, tasks: int, make: Callable[[int], Iterable[Batch]], ddl: str
) -> DataFrame:
    """A DataFrame of the rows of ``make(0)``, ``make(1)``, ..., each in a task of its own.

    Args:
        ddl: names and types of the columns.
    """

    def run(batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from make(index)

    return _mapped(spark.range(0, tasks, 1, max(tasks, 1)), run, ddl)


def _mapped(dataframe: DataFrame, function: Callable[..., Any], ddl: str) -> DataFrame:
    """``DataFrame.mapInArrow`` without PySpark's warning about pandas, which ``mapInArrow`` does
    not use although PySpark requires it.

    Raises:
        StateError: a package is missing.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            return dataframe.mapInArrow(function, ddl)
    except ImportError as error:
        raise StateError(
            f"state as DataFrames needs pandas: {install_command('state')} ({error})"
        ) from error


def collect_from_tasks(
    spark: SparkSession, tasks: int, make: Callable[[int], bytes]
) -> list[bytes]:
    """Results of ``make(0)``, ``make(1)``, ..., each in a task of its own, in no order.

    Raises:
        StateError: a task failed; the message is that of its error.
    """

    def batches(index: int) -> Iterator[Batch]:
        yield _one_column([make(index)])

    return _collected(frame_from_tasks(spark, tasks, batches, "answer binary"))


def exchange_rows(
    dataframe: DataFrame,
    targets: int,
    route: Callable[[Iterator[Batch]], Iterator[tuple[int, bytes]]],
    take: Callable[[int, Iterator[bytes]], bytes],
) -> list[bytes]:
    """Send rows to tasks, and collect an answer from each task that got rows.

    Args:
        route: makes packets of the rows of a partition: (target, bytes).
        take: function that makes a target's answer from its packets, in the target's task.

    Raises:
        StateError: a task failed; the message is that of its error.
    """

    def send(batches: Iterator[Batch]) -> Iterator[Batch]:
        for target, packet in route(batches):
            yield _packet(target, packet)

    def receive(batches: Iterator[Batch]) -> Iterator[Batch]:
        packets = _Packets(batches)
        if packets.target is not None:
            yield _one_column([take(packets.target, iter(packets))])

    sent = _mapped(dataframe, send, "target int, packet binary")
    by_target = by_partition_id(sent, targets, "target")
    return _collected(_mapped(by_target, receive, "answer binary"))


class _Packets:
    """The packets for one target task."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self._first = next((batch for batch in batches if batch.num_rows), None)
        self.target: int | None = None
        if self._first is not None:
            self.target = self._first.column(0)[0].as_py()

    def __iter__(self) -> Iterator[bytes]:
        assert self._first is not None
        yield from self._of(self._first)
        for batch in self._batches:
            yield from self._of(batch)

    def _of(self, batch: Batch) -> Iterator[bytes]:
        targets = batch.column(0).to_pylist()
        if any(target != self.target for target in targets):
            raise StateError("Spark brought the rows of several subtasks into one task")
        for packet in batch.column(1):
            yield packet.as_py()


def _packet(target: int, packet: bytes) -> Batch:
    import pyarrow as pa

    columns = [pa.array([target], pa.int32()), pa.array([packet], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["target", "packet"])


def _one_column(values: list[bytes]) -> Batch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], ["answer"])


def _collected(dataframe: DataFrame) -> list[bytes]:
    try:
        return [bytes(row[0]) for row in dataframe.collect()]
    except PySparkException as error:
        raise StateError(_cause(str(error))) from error


def _cause(text: str, otherwise: str = "reading or writing state in Spark failed") -> str:
    """Message of millrace's own error in Spark's report of a failed task, if there is one."""
    names = [kind.__name__ for kind in _all_errors(MillraceError)]
    for line in text.splitlines():
        place, _, message = line.strip().partition("Error: ")
        if f"{place.rpartition('.')[2]}Error" in names:
            return message
    return f"{otherwise}: {text.strip()}"


def _all_errors(kind: type[MillraceError]) -> Iterator[type[MillraceError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all_errors(below)


def new_session(spark: SparkSession) -> SparkSession:
    """A session with views of its own in the same application."""
    return spark.newSession()


def frame_of_rows(
    spark: SparkSession, names: Sequence[str], rows: Sequence[tuple[str, ...]]
) -> DataFrame:
    """A DataFrame with a few rows of text."""
    return spark.createDataFrame(list(rows), ", ".join(f"{name} string" for name in names))


def run_query(spark: SparkSession, query: str, known: Sequence[str]) -> DataFrame:
    """The result of a query; ``known`` has the views that the query may read.

    Raises:
        StateError: the query is invalid.
    """
    try:
        return spark.sql(query)
    except PySparkException as error:
        lines = str(error).partition("\n\nJVM stacktrace")[0].strip()
        hint = ""
        if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
            lines = lines.partition(". Verify the spelling")[0]
            hint = f"; there are: {', '.join(known) or 'none'}"
        raise StateError(f"{lines}{hint}") from error


def answer_rows(answer: DataFrame) -> Iterator[list[Any]]:
    """The rows of a DataFrame one by one, structs as dicts.

    Raises:
        StateError: computing them failed.
    """
    try:
        for row in answer.toLocalIterator():
            yield list(map(_plain, row))
    except PySparkException as error:
        raise StateError(_cause(str(error), "the query failed")) from error


def _plain(value: Any) -> Any:
    """A value of a row with dicts in place of the rows in it."""
    if isinstance(value, Row):
        return {name: _plain(part) for name, part in zip(value.__fields__, value, strict=True)}
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {_plain_key(key): _plain(part) for key, part in value.items()}
    return value


def _plain_key(key: Any) -> Any:
    return tuple(key) if isinstance(key, Row) else key


def default_parallelism(spark: SparkSession) -> int:
    """Number of tasks that run at the same time; 1 if the session does not reveal it."""
    try:
        return spark.sparkContext.defaultParallelism
    except (PySparkException, AttributeError):  # of Spark Connect
        return 1


def require_dataframe(value: Any) -> DataFrame:
    """The value, if it is a bounded DataFrame; else an error.

    Raises:
        StateError: the value is not a bounded DataFrame.
    """
    if not isinstance(value, DataFrame) and not hasattr(value, "mapInArrow"):
        raise StateError(f"bootstrap_with() takes a Spark DataFrame, got {value!r}")
    if value.isStreaming:
        raise StateError("bootstrap_with() takes a bounded DataFrame, got a streaming one")
    return value  # type: ignore[no-any-return]
