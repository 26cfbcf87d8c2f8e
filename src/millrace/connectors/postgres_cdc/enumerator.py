"""Enumerator of a CDC source: divides tables into chunks, and assigns the log when all chunks
are read."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from millrace.common.source import EnumeratorContext, SourceEvent, SourceSplit, SplitEnumerator
from millrace.connectors.postgres_cdc.captured_table import CapturedTable, find_tables
from millrace.connectors.postgres_cdc.changes_reader import SlotSettings
from millrace.connectors.postgres_cdc.chunk_reader import next_chunk_start
from millrace.connectors.postgres_cdc.connection import (
    PostgresCdcError,
    PostgresConnection,
    RetryTimer,
    import_psycopg,
)
from millrace.connectors.postgres_cdc.server_setup import (
    advance_slot,
    current_log_end,
    drop_slot,
    ensure_publication,
    ensure_slot,
    require_slot,
    require_wal_level,
)
from millrace.connectors.postgres_cdc.splits import (
    ChangesSplit,
    ChunkFinished,
    ChunkSplit,
    Key,
    NewChanges,
    Page,
    RunEnded,
)
from millrace.connectors.postgres_cdc.startup_options import StartupMode, StartupOptions

__all__ = ["CHANGES", "PostgresCdcEnumerator", "TableSelection"]

CHANGES = "changes"
"""Id of the split that does not end."""
_CATCH_UP = "catch-up"
_WATCH_INTERVAL = 20
"""Milliseconds between looks at the end of the log, and at what the thread has done."""
_SLOW_WATCH = 1_000
"""Milliseconds between them while the log is read by readers that find changes by themselves."""
_CHUNKS_AT_ONCE = 16
_ACTIVE_CHUNKS = 4
"""Per subtask."""


@dataclass(frozen=True)
class TableSelection:
    """Selection of captured tables, and the startup position.

    Attributes:
        schemas: patterns of schemas; none: any.
        tables: patterns of ``schema.table``; none: any.
        split_size: rows of a chunk.
        startup: the startup position.
    """

    schemas: tuple[str, ...]
    tables: tuple[str, ...]
    split_size: int
    startup: StartupOptions


class _Phase(Enum):
    SETUP = 0
    CHUNKS = 1
    CATCH_UP = 2
    """Changes that the queries of the chunks did not see are being read from the log."""
    CAUGHT_UP = 3
    CHANGES = 4
    DONE = 5


_LOG_PHASES = frozenset({_Phase.CATCH_UP, _Phase.CHANGES})


class _NextChunk(NamedTuple):
    """Start of the next chunk, as its query returns it."""

    table: int
    number: int
    start: Key | None


_Place = _NextChunk
"""Name of the class in checkpoints that older versions made."""
_FIRST = _NextChunk(0, 0, None)


@dataclass(frozen=True)
class _State:
    """State of the enumerator in checkpoints."""

    application_name: str
    phase: _Phase = _Phase.SETUP
    tables: tuple[CapturedTable, ...] = ()
    start_lsn: int = 0
    slot_is_ours: bool = False
    """Whether it was created by this job."""
    place: _NextChunk = _FIRST
    unread: frozenset[tuple[str, int]] = frozenset()
    """Chunks that are being read: table and number."""
    pages: tuple[tuple[str, int, tuple[Page, ...]], ...] = ()
    """Pages by table and number of the chunk."""


@dataclass
class _Work:
    """A database request that runs in a thread."""

    answer: Future[Any]
    take: Callable[[Any], Sequence[SourceSplit]] = field(repr=False)


class PostgresCdcEnumerator(SplitEnumerator):
    """Queries the database in a thread of its own, so that no epoch waits for a response.

    Chunks are read first, by all subtasks; then one subtask reads the log: up to where it was when
    the last chunk had been read, without what the chunks have already, and from there for ever.
    """

    def __init__(
        self, connection: PostgresConnection, settings: SlotSettings, selection: TableSelection
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._selection = selection
        self._state = _State(f"millrace-cdc-{uuid.uuid4().hex[:16]}")
        self._context = EnumeratorContext(1)
        self._pool: ThreadPoolExecutor | None = None
        self._work: _Work | None = None
        self._sql: Any = None
        self._retry = RetryTimer(settings.patience)
        self._log_end = 0
        self._available_now = False
        self._run_end = 0
        """End position of an available-now run."""
        self._read_to = 0
        """The position up to which the run has read, once it has reached its end."""
        self._kept_to = 0
        """The same position in the last checkpoint."""

    def start(self, context: EnumeratorContext) -> None:
        self._context = context

    def discover(self, now: int) -> Sequence[SourceSplit]:
        splits: Sequence[SourceSplit] = ()
        if self._work is not None:
            if not self._work.answer.done():
                return ()
            work, self._work = self._work, None
            splits = self._taken(work)
        if self._retry.due and self._work is None:
            self._ask_next()
        return splits

    def _taken(self, work: _Work) -> Sequence[SourceSplit]:
        try:
            answer = work.answer.result()
        except import_psycopg().OperationalError as error:
            self._lost(error)
            return ()
        except import_psycopg().Error as error:
            raise PostgresCdcError(f"{self._connection} refuses a query: {error}") from error
        self._retry.succeeded()
        return work.take(answer)

    def _lost(self, error: Exception) -> None:
        if self._sql is not None:
            self._sql.close()
            self._sql = None
        text = str(error).strip()
        first = self._state.phase is _Phase.SETUP
        if first or not self._retry.failed():
            raise PostgresCdcError(f"cannot reach {self._connection}: {text}") from error
        self._context.logger.warning("%s: %s; trying again", self._connection, text)

    def _ask_next(self) -> None:
        state = self._state
        if state.phase is _Phase.SETUP:
            self._ask(self._set_up, self._take_setup)
        elif state.phase is _Phase.CHUNKS and state.place.table < len(state.tables):
            if len(state.unread) < _CHUNKS_AT_ONCE * self._context.parallelism:
                self._ask(partial(self._divide, state), self._take_chunks)
        elif state.phase is _Phase.CHUNKS and not state.unread:
            self._ask(current_log_end, self._take_high_watermark)
        elif state.phase is _Phase.CAUGHT_UP:
            self._ask(current_log_end, self._take_rest)
        elif state.phase in _LOG_PHASES and not self._context.readers_look:
            self._ask(current_log_end, self._take_log_end)

    def _ask(
        self, question: Callable[[Any], Any], take: Callable[[Any], Sequence[SourceSplit]]
    ) -> None:
        self._work = _Work(self._thread().submit(self._asked, question), take)

    def _thread(self) -> ThreadPoolExecutor:
        """The only thread that uses the connection."""
        self._pool = self._pool or ThreadPoolExecutor(1, "postgres-cdc")
        return self._pool

    def _asked(self, question: Callable[[Any], Any]) -> Any:
        if self._sql is None:
            self._sql = self._connection.connect(self._state.application_name)
        return question(self._sql)

    # -- the beginning -----------------------------------------------------------------

    def _set_up(self, sql: Any) -> tuple[list[CapturedTable], int, bool]:
        """Captured tables, start position in the log, and whether the slot is new."""
        selection, settings = self._selection, self._settings
        require_wal_level(sql)
        reads_tables = selection.startup.reads_tables
        tables = find_tables(sql, selection.schemas, selection.tables, reads_tables)
        new = ensure_publication(sql, settings.publication, tables)
        if selection.startup.mode is StartupMode.COMMITTED_OFFSETS:
            require_slot(sql, settings.slot)
        self._context.logger.info(
            "looking for replication slot '%s'; if it is missing, it is created as soon as "
                "the transactions that run now have ended", settings.slot,
        )  # fmt: skip
        lsn, created = ensure_slot(sql, settings.slot, new)
        if selection.startup.mode is StartupMode.LATEST_OFFSET:
            lsn = current_log_end(sql)
        return tables, lsn, created

    def _take_setup(self, setup: tuple[list[CapturedTable], int, bool]) -> Sequence[SourceSplit]:
        tables, lsn, created = setup
        self._state = replace(
            self._state,
            tables=tuple(tables),
            start_lsn=lsn,
            slot_is_ours=created,
            phase=_Phase.CHUNKS if self._selection.startup.reads_tables else _Phase.CAUGHT_UP,
        )
        names = ", ".join(table.full_name for table in tables)
        self._context.logger.info("capturing changes of %s", names)
        return ()

    # -- chunks ------------------------------------------------------------------------

    def _divide(self, state: _State, sql: Any) -> tuple[list[ChunkSplit], _NextChunk]:
        """Next chunks, and the start of the chunk after them."""
        chunks: list[ChunkSplit] = []
        place = state.place
        while len(chunks) < _CHUNKS_AT_ONCE and place.table < len(state.tables):
            table = state.tables[place.table]
            end = next_chunk_start(sql, table, place.start, self._selection.split_size)
            name = f"{table.full_name}:{place.number}"
            chunks.append(ChunkSplit(name, table, place.number, place.start, end))
            if end is None:
                place = _NextChunk(place.table + 1, 0, None)
            else:
                place = _NextChunk(place.table, place.number + 1, end)
        return chunks, place

    def _take_chunks(self, looked_up: tuple[list[ChunkSplit], _NextChunk]) -> Sequence[SourceSplit]:
        chunks, place = looked_up
        new = {(chunk.table.full_name, chunk.number) for chunk in chunks}
        self._state = replace(self._state, place=place, unread=self._state.unread | new)
        return chunks

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        if isinstance(event, ChunkFinished):
            done = event.table, event.number
            pages = (*self._state.pages, (*done, event.pages))
            self._state = replace(self._state, unread=self._state.unread - {done}, pages=pages)
        elif isinstance(event, RunEnded):
            self._read_to = event.lsn

    # -- the log -----------------------------------------------------------------------

    def _take_high_watermark(self, lsn: int) -> Sequence[SourceSplit]:
        """The catch-up split, up to a log position after all commits that the chunks saw."""
        state = self._state
        self._state = replace(state, phase=_Phase.CATCH_UP, start_lsn=lsn, pages=())
        return [
            ChangesSplit(
                _CATCH_UP, state.tables, state.application_name, state.start_lsn, lsn,
                tuple((table.full_name, _joined(state, table)) for table in state.tables),
            )
        ]  # fmt: skip

    def handle_split_finished(self, split: Any) -> None:
        if split.split_id == _CATCH_UP:
            initial = self._selection.startup.mode is StartupMode.INITIAL
            phase = _Phase.CAUGHT_UP if initial else _Phase.DONE
            self._state = replace(self._state, phase=phase)

    def _take_rest(self, lsn: int) -> Sequence[SourceSplit]:
        state = self._state
        self._state = replace(state, phase=_Phase.CHANGES)
        return [ChangesSplit(CHANGES, state.tables, state.application_name, state.start_lsn)]

    def _take_log_end(self, lsn: int) -> Sequence[SourceSplit]:
        if lsn != self._log_end:
            self._log_end = lsn
            for subtask in range(self._context.parallelism):
                self._context.send_source_event(subtask, NewChanges())
        return ()

    # -- runs that end ------------------------------------------------------------------

    def prepare_for_available_now(self, now: int) -> None:
        self._available_now = True
        try:
            self._run_end = self._thread().submit(self._asked, current_log_end).result()
        except import_psycopg().OperationalError as error:
            raise PostgresCdcError(f"cannot reach {self._connection}: {error}") from error

    def available_now_end(self, split: Any) -> int | None:
        """End position of the changes split; None for splits that themselves have an end."""
        return self._run_end if split.split_id == CHANGES else None

    def no_more_splits(self) -> bool:
        phase = self._state.phase
        return phase is _Phase.DONE or (self._available_now and phase is _Phase.CHANGES)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Advance the slot after the job's last checkpoint, as readers do while it runs. Drop
        the slot of a job that has only read the tables."""
        slot, reader = self._settings.slot, self._state.application_name
        if self._state.phase is _Phase.DONE and self._state.slot_is_ours:
            self._state = replace(self._state, slot_is_ours=False)
            self._tidy(partial(drop_slot, name=slot, reader=reader))
        elif self._kept_to:
            self._tidy(partial(advance_slot, name=slot, lsn=self._kept_to))
            self._read_to = self._kept_to = 0

    def _tidy(self, action: Callable[[Any], None]) -> None:
        try:
            (self._thread().submit(self._asked, action)).result()
        except import_psycopg().Error as error:
            self._context.logger.warning(
                "the server keeps changes for replication slot '%s': %s",
                self._settings.slot, str(error).strip(),
            )  # fmt: skip

    def next_discovery(self, now: int) -> int | None:
        if self.no_more_splits():
            return None
        if self._context.readers_look and self._state.phase in _LOG_PHASES:
            return now + _SLOW_WATCH
        return now + _WATCH_INTERVAL

    def snapshot_state(self) -> _State:
        self._kept_to = self._read_to
        return self._state

    def restore_state(self, state: _State) -> None:
        self._state = state

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._sql is not None:
            with suppress(import_psycopg().Error):
                self._sql.cancel()  # to create a slot may take as long as somebody's transaction
            self._sql.close()


def _joined(state: _State, table: CapturedTable) -> tuple[Page, ...]:
    """Pages of a table in key order; neighbours with the same snapshot are joined."""
    chunks = sorted(
        (number, pages) for name, number, pages in state.pages if name == table.full_name
    )
    joined: list[Page] = []
    for _, pages in chunks:
        for page in pages:
            if not joined or joined[-1].snapshot != page.snapshot:
                joined.append(page)
    return tuple(joined)
