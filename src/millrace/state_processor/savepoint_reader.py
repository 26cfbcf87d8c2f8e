"""Reading checkpoints and savepoints as DataFrames (Flink docs, "State Processor API")."""

from __future__ import annotations

import os
from typing import Any

from millrace.common.errors import StateError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.type_information import TypeInformation
from millrace.common.window import WindowAssigner
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.internal_tables import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.state.kinds.state_shape import StateShape
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state_processor.arrow_columns import column_type
from millrace.state_processor.functions import KeyedStateReaderFunction
from millrace.state_processor.reader_queries import KeyedReaderQuery
from millrace.state_processor.state_changes import CHANGE_TYPES, CHANGES, ChangesQuery
from millrace.state_processor.state_frame import SAMPLE, frame_of, frame_of_values
from millrace.state_processor.state_queries import ConcatenatedQuery, EntriesQuery
from millrace.state_processor.state_rows import FIXED, TIMERS, column_names, written_types
from millrace.state_processor.state_source import StateSource
from millrace.state_processor.state_views import (
    VIEW_COLUMNS,
    SqlView,
    is_show_tables,
    state_views,
    view_rows,
    views_in_query,
)
from millrace.state_processor.window_savepoint_reader import (
    WindowSavepointReader,
    saved_operator,
)

__all__ = ["SavepointReader"]

_KEYED_SHAPES = tuple(shape for shape in StateShape if shape.is_per_key)


class SavepointReader:
    """Reads the state in a checkpoint or savepoint. Flink: class ``SavepointReader``.

    One Spark task reads one subtask's state. Columns have the types that the job declared, else
    those of the first entries (``sample`` of them; None: of all, which takes a pass over them).
    What has no type in Spark is text; a column with JSON in it says so in its comment. Times are
    in ms since the epoch.

    Example:
        >>> def balances(spark, path):
        ...     savepoint = SavepointReader.read(spark, path)
        ...     return savepoint.read_keyed_state("accounts", "balance").where("value < 0")
    """

    def __init__(self, spark: Any, reader: SnapshotReader) -> None:
        self._spark = spark
        self._reader = reader

    @staticmethod
    def read(
        spark: Any, path: str | os.PathLike[str], pickle_allowed: bool = False
    ) -> SavepointReader:
        """A reader of the snapshot at a path: a savepoint, a ``chk-<n>`` directory, a ``_metadata``
        file, or the directory of a job, which means its newest checkpoint.

        Args:
            pickle_allowed: True for a snapshot whose maker you trust: native snapshots, and pickled
                values in canonical savepoints, can run code when they are read. If False, they
                are refused.

        Raises:
            CheckpointError: there is no snapshot at the path, or its format is too new.
            CheckpointCorruptError: the snapshot is damaged.
        """
        return SavepointReader(spark, SnapshotReader(open_snapshot(path, pickle_allowed)))

    def states(self) -> list[StateInfo]:
        """All states, with their operators and shapes."""
        return self._reader.states()

    def read_keyed_state(
        self,
        uid: str,
        function: KeyedStateReaderFunction | str,
        key_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """Keyed state of an operator.

        Args:
            uid: uid of the operator, or its name if only one operator has this name.
            function: called for every key; the fields of what it yields become columns. Or the
                name of a state: its entries are ``key, value`` (and, with a time to live,
                ``written``). The value of list state is an array, that of map state a map, that of
                aggregating state the accumulator.
            key_type: type of the keys.
            output_type: type of what the function yields, or of the values.

        Raises:
            StateError: the snapshot has no such operator or state.
        """
        if isinstance(function, str):
            return self._entries(uid, function, _KEYED_SHAPES, key_type, output_type, sample)
        if not isinstance(function, KeyedStateReaderFunction):
            raise StateError(
                f"read_keyed_state() takes a KeyedStateReaderFunction or a name, got {function!r}"
            )
        infos = self._keyed_states(uid)
        subtasks = sorted({subtask for info in infos for subtask in info.subtasks})
        source = StateSource.of(self._reader, infos[0].stage, subtasks)
        query = KeyedReaderQuery(source, saved_operator(self._reader, infos[0], key_type), function)
        return frame_of_values(self._spark, query, output_type, sample)

    def read_value_state(
        self,
        uid: str,
        name: str,
        key_type: TypeInformation[Any] | None = None,
        value_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """Value, reducing or aggregating state: ``key, value``."""
        return self._entries(uid, name, (StateShape.VALUE,), key_type, value_type, sample)

    def read_keyed_list_state(
        self,
        uid: str,
        name: str,
        key_type: TypeInformation[Any] | None = None,
        value_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """List state of keys: ``key, value``, an array."""
        return self._entries(uid, name, (StateShape.LIST,), key_type, value_type, sample)

    def read_map_state(
        self,
        uid: str,
        name: str,
        key_type: TypeInformation[Any] | None = None,
        value_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """Map state: ``key, value``, a map."""
        return self._entries(uid, name, (StateShape.MAP,), key_type, value_type, sample)

    def window(self, assigner: WindowAssigner[Any, Any] | None = None) -> WindowSavepointReader:
        """Reader of windows that have not fired. Sliding windows are stored as panes that they
        share: with their assigner the windows are assembled, without it the panes are returned."""
        return WindowSavepointReader(self._spark, self._reader, assigner)

    def read_timers(self, uid: str, sample: int | None = SAMPLE) -> Any:
        """Timers of keyed functions and of triggers: ``key, timestamp, time_domain, window_start,
        window_end, window``; the time domain is ``EVENT_TIME`` or ``PROCESSING_TIME``."""
        own = [info for info in self.states() if uid in (info.uid, info.operator)]
        timers = [info for info in own if info.name in (EVENT_TIMERS, PROCESSING_TIMERS)]
        if not timers:
            raise StateError(f"operator '{uid}' has no timers in {self._reader.snapshot.path}")
        query = ConcatenatedQuery(tuple(EntriesQuery.of(self._reader, info) for info in timers))
        return frame_of(self._spark, query, TIMERS, FIXED, sample)

    def read_list_state(
        self,
        uid: str,
        name: str,
        value_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """The elements of an operator's list: ``value``."""
        return self._entries(uid, name, (StateShape.OPERATOR_LIST,), None, value_type, sample)

    def read_union_state(
        self,
        uid: str,
        name: str,
        value_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """The elements of an operator's union list: ``value``."""
        return self._entries(uid, name, (StateShape.UNION_LIST,), None, value_type, sample)

    def read_broadcast_state(
        self,
        uid: str,
        name: str,
        key_type: TypeInformation[Any] | None = None,
        value_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """The entries of a broadcast map: ``key, value``."""
        return self._entries(uid, name, (StateShape.BROADCAST,), key_type, value_type, sample)

    def read_state(self, info: StateInfo, sample: int | None = SAMPLE) -> Any:
        """One of the `states`, with the columns of its shape."""
        query = EntriesQuery.of(self._reader, info)
        known = {**FIXED, **written_types(info)}
        return frame_of(self._spark, query, column_names(info), known, sample)

    def read_state_changes(
        self,
        since: str | os.PathLike[str],
        uid: str,
        name: str,
        key_type: TypeInformation[Any] | None = None,
        value_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """Changes of a keyed state since another snapshot (a path, as for `read`): ``kind, key,
        value, checkpoint``. The kind is Flink's: ``+I`` inserted, ``-U`` the former and ``+U`` the
        new value, ``-D`` deleted, with the last value. See also
        `StreamExecutionEnvironment.state_changes`.

        Raises:
            StateError: neither snapshot has the state, or it is not keyed state.
            CheckpointError: there is no snapshot at ``since``.
        """
        before = SnapshotReader(open_snapshot(since, self._reader.snapshot.trusted))
        query = ChangesQuery.of(before, self._reader, uid, name)
        known = {**CHANGE_TYPES, **_declared("key", key_type), **_declared("value", value_type)}
        return frame_of(self._spark, query, CHANGES, known, sample)

    def views(self) -> list[SqlView]:
        """Views that `sql` can query."""
        return state_views(self.states())

    def sql(self, query: str, sample: int | None = None) -> Any:
        """The result of a Spark SQL query over the states, each of which is a view: see `views`, or
        query ``SHOW TABLES``. The views are in a session of their own, without temporary views of
        the caller's session.

        Raises:
            StateError: the query is wrong.
        """
        from millrace.spark.state_frames import frame_of_rows, new_session, run_query

        session = new_session(self._spark)
        if is_show_tables(query):
            return frame_of_rows(session, VIEW_COLUMNS, view_rows(self.views()))
        for view in views_in_query(self.views(), query):
            self._of_view(session, view, sample).createOrReplaceTempView(view.name)
        return run_query(session, query, [view.name for view in self.views()])

    def _of_view(self, session: Any, view: SqlView, sample: int | None) -> Any:
        parts = tuple(EntriesQuery.of(self._reader, info) for info in view.states)
        query = ConcatenatedQuery(parts)
        known = {**FIXED, **(written_types(view.first) if len(parts) == 1 else {})}
        return frame_of(session, query, view.columns, known, sample)

    def _entries(
        self,
        uid: str,
        name: str,
        shapes: tuple[StateShape, ...],
        key_type: TypeInformation[Any] | None,
        value_type: TypeInformation[Any] | None,
        sample: int | None,
    ) -> Any:
        info = self._reader.state(uid, name)
        if info.shape not in shapes:
            wanted = " or ".join(shape.value for shape in shapes)
            raise StateError(
                f"state '{name}' of operator '{uid}' is {info.shape.value} state, not {wanted}"
            )
        query = EntriesQuery.of(self._reader, info)
        given = {**_declared("key", key_type), **_declared("value", value_type)}
        known = {**FIXED, **written_types(info), **given}
        return frame_of(self._spark, query, column_names(info), known, sample)

    def _keyed_states(self, uid: str) -> list[StateInfo]:
        own = [info for info in self.states() if uid in (info.uid, info.operator)]
        keyed = [info for info in own if info.shape.is_per_key]
        if not keyed:
            names = ", ".join(info.name for info in own) or "nothing"
            raise StateError(f"operator '{uid}' has no keyed state in this snapshot (has: {names})")
        return keyed


def _declared(name: str, info: TypeInformation[Any] | None) -> dict[str, LogicalType]:
    kind = None if info is None else column_type(info)
    return {} if kind is None else {name: kind}
