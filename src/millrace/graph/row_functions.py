"""Python functions of a program over batches of rows. Spark's workers call them.

Each class is a function of an iterator of record batches, without anything of Spark, and gives the
rows to the program's function one by one, or the whole batch to a vectorised one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobExecutionError, SerializationError, UserFunctionError
from millrace.graph.column_type import ColumnType
from millrace.runtime.failure import describe_failure

if TYPE_CHECKING:
    import pyarrow

__all__ = ["FilterRows", "FlatMapGroups", "GroupVertex", "MapRows", "ReduceValues", "RowReader"]

_ROWS_PER_BATCH = 10_000
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reader of the arguments of a function: rows of some columns of a batch.

    Args:
        columns: positions of the columns.
        row: class of the argument; None if it is the value of the only column.
    """

    columns: tuple[int, ...]
    types: tuple[ColumnType, ...]
    row: Callable[..., Any] | None

    def read(self, batch: pyarrow.RecordBatch) -> list[Any]:
        """The argument for each row of a batch."""
        parts = [
            kind.decode(batch.column(position))
            for position, kind in zip(self.columns, self.types, strict=True)
        ]
        return parts[0] if self.row is None else list(map(self.row, *parts))


@dataclass(frozen=True, slots=True)
class MapRows:
    """Calls a function for each row, and appends the results to the columns of the row.

    Args:
        method: method of the graph, for messages.
        function: function of an argument that ``reader`` reads; of the batch if ``vectorized``.
        kept: positions of the columns before the result.
    """

    method: str
    function: Callable[[Any], Any]
    reader: RowReader
    kept: tuple[int, ...]
    result: ColumnType
    vectorized: bool = False
    result_name: str = "value"

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if self.vectorized:
                column = _vector(self.method, self.function, batch, self.result)
            else:
                arguments = self.reader.read(batch)
                results = called(self.method, self.function, arguments)
                column = encoded(self.method, results, self.result, arguments)
            names = [batch.schema.names[position] for position in self.kept]
            columns = [batch.column(position) for position in self.kept]
            yield pa.RecordBatch.from_arrays([*columns, column], [*names, self.result_name])


@dataclass(frozen=True, slots=True)
class FilterRows:
    """Keeps the rows for which a function returns true. A vectorised function returns a mask of
    the batch."""

    method: str
    function: Callable[[Any], Any]
    reader: RowReader
    vectorized: bool = False

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if self.vectorized:
                mask = _array(self.method, _one(self.method, self.function, batch), batch)
                yield batch.filter(mask.cast(pa.bool_()))
            else:
                kept = called(self.method, self.function, self.reader.read(batch))
                yield batch.filter(pa.array(list(map(bool, kept)), pa.bool_()))


@dataclass(frozen=True, slots=True)
class ReduceValues:
    """Reduces the values of each id with an associative and commutative function.

    The first run combines values before they are exchanged, the second merges what was combined.
    Batches have the columns ``id`` and ``value``.
    """

    method: str
    function: Callable[[Any, Any], Any]
    id_type: ColumnType
    value_type: ColumnType

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        sums: dict[Any, Any] = {}
        for batch in batches:
            ids = self.id_type.decode(batch.column(0))
            self._add(sums, ids, self.value_type.decode(batch.column(1)))
        yield from self._rows(sums)

    def _add(self, sums: dict[Any, Any], ids: list[Any], items: list[Any]) -> None:
        function = self.function
        value: Any = None
        try:
            for key, item in zip(ids, items, strict=True):
                if key in sums:
                    value = (sums[key], item)
                    sums[key] = function(*value)
                else:
                    sums[key] = item
        except Exception as error:
            raise user_failure(self.method, error) from error

    def _rows(self, sums: dict[Any, Any]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        ids, reduced = list(sums), list(sums.values())
        for start in range(0, len(ids), _ROWS_PER_BATCH):
            part = slice(start, start + _ROWS_PER_BATCH)
            column = encoded(self.method, reduced[part], self.value_type, ids[part])
            yield pa.RecordBatch.from_arrays(
                [self.id_type.encode(ids[part]), column], ["id", "value"]
            )


@dataclass(frozen=True, slots=True)
class GroupVertex:
    """Reader of the vertex to which a group belongs.

    The vertex is the row with tag 0, which comes first. A group without such a row belongs to an
    id that is no vertex.
    """

    tag: int
    value: int
    value_type: ColumnType


@dataclass(frozen=True, slots=True)
class FlatMapGroups:
    """Calls a function of each id and its rows. The rows of an id must follow one another.

    Args:
        function: function of an id, or of the vertex with ``vertex``, and of the list of its rows.
        key: position and type of the id.
        vertex: reader of the vertex; None if the function does not see its value. Then ids without
            rows do not occur.
        make_vertex: class of the vertex.
    """

    method: str
    function: Callable[[Any, list[Any]], Iterable[Any] | None]
    key: int
    key_type: ColumnType
    reader: RowReader
    result: ColumnType
    vertex: GroupVertex | None = None
    make_vertex: Callable[[Any, Any], Any] | None = None

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        results: list[Any] = []
        for head, rows in self._groups(batches):
            results += self._results(head, rows)
            if len(results) >= _ROWS_PER_BATCH:
                column = encoded(self.method, results, self.result, results)
                yield pa.RecordBatch.from_arrays([column], ["value"])
                results = []
        if results:
            column = encoded(self.method, results, self.result, results)
            yield pa.RecordBatch.from_arrays([column], ["value"])

    def _results(self, head: Any, rows: list[Any]) -> list[Any]:
        value = head
        try:
            made = self.function(value, rows)
            return [] if made is None else list(made)
        except Exception as error:
            raise user_failure(self.method, error) from error

    def _groups(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[tuple[Any, list[Any]]]:
        """Each id, or its vertex, with its rows."""
        group = _Group()
        for batch in batches:
            keys = self.key_type.decode(batch.column(self.key))
            rows = self.reader.read(batch)
            if self.vertex is None:
                tags: Sequence[int] = [1] * len(keys)
                values: Sequence[Any] = keys
            else:
                tags = batch.column(self.vertex.tag).to_pylist()
                values = self.vertex.value_type.decode(batch.column(self.vertex.value))
            for key, tag, head, row in zip(keys, tags, values, rows, strict=True):
                if not group.belongs(key):
                    yield from self._ended(group)
                    group = _Group(key)
                if tag == 0:
                    group.vertices.append(head)
                else:
                    group.rows.append(row)
        yield from self._ended(group)

    def _ended(self, group: _Group) -> Iterator[tuple[Any, list[Any]]]:
        if not group.begun:
            return
        if self.vertex is None or self.make_vertex is None:
            yield group.key, group.rows
        elif group.vertices:
            yield self.make_vertex(group.key, group.vertices[0]), group.rows
        else:
            raise JobExecutionError(
                f"{self.method}: an edge has the vertex {group.key!r}, which is not among the "
                "vertices of the graph; graph.validate(InvalidVertexIdsValidator()) looks for such "
                "edges"
            )


class _Group:
    """The rows of one id."""

    __slots__ = ("begun", "key", "rows", "vertices")

    def __init__(self, *key: Any) -> None:
        self.begun = bool(key)
        self.key = key[0] if key else None
        self.vertices: list[Any] = []
        self.rows: list[Any] = []

    def belongs(self, key: Any) -> bool:
        """Whether a row with this id belongs to the group."""
        return self.begun and bool(key == self.key)


def called(method: str, function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
    """Results of a program's function, one for each argument.

    Raises:
        UserFunctionError: the function failed; the error names the argument.
    """
    results = []
    try:
        for value in arguments:
            results.append(function(value))
    except Exception as error:
        raise user_failure(method, error) from error
    return results


def user_failure(method: str, error: BaseException) -> UserFunctionError:
    """Error that names the argument with which a function of the program failed."""
    failure = describe_failure(error, method)
    return UserFunctionError(failure.operator, failure.record, failure.user_traceback)


def encoded(
    method: str, results: Sequence[Any], kind: ColumnType, arguments: Sequence[Any]
) -> pyarrow.Array:
    """Encode a function's results as a column.

    Raises:
        UserFunctionError: a result is not of the function's result type.
    """
    try:
        return kind.encode(results)
    except SerializationError as error:
        position = _first_misfit(results, kind)
        record = repr(arguments[position])[:_SHOWN]
        raise UserFunctionError(
            method,
            record,
            f"{error}; the result type of a function is its annotation, or the type that "
            f"{method}() is given",
        ) from error


def _first_misfit(results: Sequence[Any], kind: ColumnType) -> int:
    for position, result in enumerate(results):
        try:
            kind.encode([result])
        except SerializationError:
            return position
    return 0


def _one(method: str, function: Callable[[Any], Any], batch: pyarrow.RecordBatch) -> Any:
    try:
        return function(batch)
    except Exception as error:
        failure = describe_failure(error, method)
        record = f"a batch of {batch.num_rows} rows ({', '.join(batch.schema.names)})"
        raise UserFunctionError(method, record, failure.user_traceback) from error


def _vector(
    method: str, function: Callable[[Any], Any], batch: pyarrow.RecordBatch, kind: ColumnType
) -> pyarrow.Array:
    import pyarrow as pa

    column = _array(method, _one(method, function, batch), batch)
    try:
        return column.cast(kind.arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UserFunctionError(
            method,
            None,
            f"the vectorised function returned a column of {column.type}, and {kind} is wanted: "
            f"{error}",
        ) from error


def _array(method: str, made: Any, batch: pyarrow.RecordBatch) -> pyarrow.Array:
    """A vectorised function's result as an array of the batch's length."""
    import pyarrow as pa

    if isinstance(made, pa.ChunkedArray):
        made = made.combine_chunks()
    column = made if isinstance(made, pa.Array) else pa.array(made)
    if len(column) != batch.num_rows:
        raise UserFunctionError(
            method,
            None,
            f"the vectorised function returned {len(column)} values for {batch.num_rows} rows; it "
            "returns one value for each row",
        )
    return column
