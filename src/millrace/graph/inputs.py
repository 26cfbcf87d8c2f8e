"""Vertices, edges and other rows from objects of a program: collections, DataFrames, Arrow tables,
pandas, tables of SQL and bounded streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.row import Row
from millrace.graph.column_type import (
    NULL,
    ColumnType,
    declared_column_type,
    inferred_column_type,
)
from millrace.graph.data_set import DataSet

__all__ = ["rows_of"]

_SYNONYMS = {"source": ("source", "src"), "target": ("target", "dst"), "id": ("id",)}
_SHOWN = 200


def rows_of(
    data: Any,
    names: Sequence[str],
    row: Callable[..., Any],
    what: str,
    declared: Sequence[Any] | None = None,
) -> DataSet[Any]:
    """Rows with the given columns.

    Columns of a DataFrame or table are found by their names (``src`` and ``dst`` of GraphFrames
    among them). If one name is not there, the one column that is left has its values. If no name
    is there, the columns' positions count. The last column may be missing; it is NULL then.

    Args:
        what: name of the rows in messages, such as "edges".
        declared: types of the columns of a collection; None for a type that follows from the
            values.

    Raises:
        JobDefinitionError: the data has other columns, or a row has another number of values.
    """
    from millrace.spark.graphs.frames import frame_of, is_dataframe

    if isinstance(data, DataSet):
        return _of_frame(data.to_dataframe(), names, row, what, data.types)
    if is_dataframe(data):
        return _of_frame(data, names, row, what, None)
    table = _arrow_table(data, what)
    if table is not None:
        return _of_frame(frame_of(table), names, row, what, None)
    return _of_collection(_collected(data, what), names, row, what, declared)


def _arrow_table(data: Any, what: str) -> Any:
    """The Arrow table of a frame of another library, or of a table of SQL; None if the data is no
    such thing."""
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if type(data).__module__.startswith("pandas.") and hasattr(data, "columns"):
        return pa.Table.from_pandas(data, preserve_index=False)
    if not hasattr(data, "to_arrow"):
        return None
    _require_bounded_tables(data, what)
    return data.to_arrow()


def _require_bounded_tables(query: Any, what: str) -> None:
    """Refuse a query of a table that never ends."""
    from millrace.planner.relational.sink_nodes import CollectSink
    from millrace.table.table import Table

    if isinstance(query, Table):
        session = query._session
        ends = session.transformations([CollectSink(query.node, query.node.row_type)])
        _require_end(ends, session.env, what, "query")


def _collected(data: Any, what: str) -> list[Any]:
    if hasattr(data, "execute_and_collect"):
        ends = [stream_input.transformation for stream_input in data._inputs]
        _require_end(ends, data.get_execution_environment(), what, "DataStream")
        with data.execute_and_collect(f"{what} of a graph") as rows:
            return list(rows)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise JobDefinitionError(
            f"{what} come from a collection, a DataFrame, an Arrow table, a pandas DataFrame, a "
            f"Table or a bounded DataStream, got {data!r}"[:500]
        )
    return list(data)


def _require_end(ends: Sequence[Any], env: Any, what: str, kind: str) -> None:
    """Refuse rows of a source that never ends, for which a graph would wait for ever.

    Args:
        ends: transformations that give the rows.
        env: their environment.
        kind: kind of the rows' origin in messages.
    """
    from millrace.common.config import options
    from millrace.common.source import Boundedness
    from millrace.job_graph.stages import inputs_first

    if env._configuration.get(options.AVAILABLE_NOW):
        return
    for transformation in inputs_first(ends):
        source = transformation.source
        if source is not None and source.boundedness is not Boundedness.BOUNDED:
            raise JobDefinitionError(
                f"{what} come from a bounded {kind}, and the source '{transformation.name}' of "
                "this one never ends: give the source an end, or make a GraphStream"
            )


def _of_frame(
    frame: Any,
    names: Sequence[str],
    row: Callable[..., Any],
    what: str,
    types: tuple[ColumnType, ...] | None,
) -> DataSet[Any]:
    from millrace.spark.graphs.relations import selected, with_nulls

    if frame.isStreaming:
        raise JobDefinitionError(
            f"{what} come from a bounded DataFrame, got a streaming one; a graph of a stream is a "
            "GraphStream"
        )
    columns = list(frame.columns)
    chosen = _chosen(columns, names, what)
    picked = selected(
        frame, {name: f"`{column}`" for name, column in zip(names, chosen, strict=False)}
    )
    if types is not None:
        types = tuple(types[columns.index(column)] for column in chosen)
    if len(chosen) < len(names):
        picked = with_nulls(picked)
        types = None if types is None else (*types, NULL)
    return DataSet(picked, row, types)


def _chosen(columns: list[str], names: Sequence[str], what: str) -> list[str]:
    """Columns of a frame for the names; the last one may be missing."""
    wanted = names[:-1] if len(columns) == len(names) - 1 else names
    by_name = _columns_by_name(columns, wanted)
    missing = [place for place, column in enumerate(by_name) if column is None]
    others = [column for column in columns if column not in by_name]
    if len(missing) == len(others) == 1:
        by_name[missing[0]] = others[0]
        return [column for column in by_name if column is not None]
    if not missing:
        return [column for column in by_name if column is not None]
    in_place = all(column in (None, given) for column, given in zip(by_name, columns, strict=False))
    if len(columns) == len(wanted) and in_place:
        return columns
    raise JobDefinitionError(
        f"{what} must have the columns {', '.join(names)} (the last one may be missing), "
        f"got the columns {', '.join(columns)}: select these columns under these names, and "
        "combine all value columns to one with struct()"
    )


def _columns_by_name(columns: list[str], names: Sequence[str]) -> list[str | None]:
    """The column that has each name or a synonym of it; None if there is none."""
    lower = {column.lower(): column for column in columns}
    return [
        next((lower[known] for known in _SYNONYMS.get(name, (name,)) if known in lower), None)
        for name in names
    ]


def _of_collection(
    rows: list[Any],
    names: Sequence[str],
    row: Callable[..., Any],
    what: str,
    declared: Sequence[Any] | None,
) -> DataSet[Any]:
    import pyarrow as pa

    from millrace.spark.graphs.frames import frame_of
    from millrace.state.serialization.script_classes import track_script_classes

    track_script_classes()  # before values are pickled
    columns = _columns(rows, len(names), what)
    types = []
    arrays = []
    for position, (name, values) in enumerate(zip(names, columns, strict=True)):
        given = None if declared is None else declared[position]
        kind = inferred_column_type(values) if given is None else declared_column_type(given)
        if kind.is_pickled and name != names[-1]:
            raise JobDefinitionError(_mixed_ids(name, values, what))
        types.append(kind)
        arrays.append(kind.encode(values))
    table = pa.Table.from_arrays(arrays, list(names))
    return DataSet(frame_of(table), row, tuple(types))


def _columns(rows: list[Any], width: int, what: str) -> list[list[Any]]:
    """Columns of rows; the last value of a row may be missing."""
    shortest = width - 1
    for number, item in enumerate(rows):
        bare = not isinstance(item, tuple | list | Row)
        if bare and shortest == 1:
            continue
        if bare or len(item) not in (width, shortest):
            raise JobDefinitionError(
                f"row {number} of the {what} has to be a tuple of {shortest} or {width} values, "
                f"got {item!r}"[:500]
            )
    whole = [
        (*item, *[None] * (width - len(item)))
        if isinstance(item, tuple | list | Row)
        else (item, None)
        for item in rows
    ]
    columns = [list(column) for column in zip(*whole, strict=True)] or [[] for _ in range(width)]
    for position in range(shortest):
        if None in columns[position]:
            number = columns[position].index(None)
            raise JobDefinitionError(
                f"row {number} of the {what} has no id: {rows[number]!r}"[:500]
            )
    return columns


def _mixed_ids(name: str, values: list[Any], what: str) -> str:
    classes = sorted({type(value).__name__ for value in values})
    first = values[0]
    other = next((value for value in values if type(value) is not type(first)), first)
    reason = (
        f"got {first!r} and {other!r}" if len(classes) > 1 else f"got {first!r}, of {classes[0]}"
    )
    return (
        f"the ids of the {what} ({name}) must have one type: a number, a text, or a tuple "
        f"of these; {reason[:_SHOWN]}"
    )
