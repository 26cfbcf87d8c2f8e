"""Queryable states, with the values of the newest checkpoint.

A separate thread follows the checkpoints, so the job never waits for the view. A thread that falls
behind skips checkpoints; the shown values are always those of one checkpoint.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.common.errors import CheckpointCorruptError, StateError
from millrace.engine.clock import Clock, SystemClock
from millrace.engine.job_observer import JobObserver
from millrace.runtime.epoch import Ack, QueryableState
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.frozen import MISSING
from millrace.state.kinds.table_kind import TableKind
from millrace.state.state_follower import Changes, StateFollower, TableChanges
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT

__all__ = ["NotLoadedError", "QueryableView", "QueryAnswer"]

log = logging.getLogger(__name__)

LONGEST_END = 1.0
"""Maximum seconds for which the end of a job waits for the view."""
KeyText = Callable[[Any], str | None]

EXAMPLES = 16
"""Maximum number of example keys per state."""


class NotLoadedError(StateError):
    """No query can be answered yet: no checkpoint has been read since the start of the job."""


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """Answer to a query: the values of one checkpoint for some keys."""

    checkpoint: int
    timestamp: int
    """Time at which the checkpoint was made, ms since the epoch."""
    found: list[tuple[Any, Any]]
    """Key and value for each requested key; `MISSING` for both if there is none."""


@dataclass
class _QueryableTable:
    text: KeyText
    kind: TableKind = FLAT
    data: dict[Any, Any] = field(default_factory=dict)
    examples: dict[Any, Any] = field(default_factory=dict)
    """Example keys by their shape."""
    written: dict[str, list[Any]] = field(default_factory=dict)
    """Keys by their text; several if their texts are equal. Plain numbers and strings are left
    out."""

    def change(self, kind: TableKind | None, changes: TableChanges) -> None:
        self.kind = kind or self.kind
        for key, (_, value) in changes.items():
            if value is MISSING:
                if key in self.data:
                    del self.data[key]
                    self._forget(key)
                continue
            if key not in self.data:
                self._remember(key)
            self.data[key] = value

    def fill(self, kind: TableKind | None, entries: dict[Any, Any]) -> None:
        self.kind, self.data = kind or FLAT, entries
        for key in entries:
            self._remember(key)

    def _remember(self, key: Any) -> None:
        if len(self.examples) < EXAMPLES:
            self.examples.setdefault(_shape(key), key)
        text = self._text_of(key)
        if text is not None:
            self.written.setdefault(text, []).append(key)

    def _forget(self, key: Any) -> None:
        text = self._text_of(key)
        if text is None or text not in self.written:
            return
        left = [other for other in self.written[text] if other is not key and other != key]
        if left:
            self.written[text] = left
        else:
            del self.written[text]

    def _text_of(self, key: Any) -> str | None:
        return None if type(key) in (int, str) else self.text(key)


@dataclass
class _Group:
    """Group of state tables that one follower reads together."""

    names: frozenset[TableId]
    follower: StateFollower | None = None
    """Follower of the tables; None if they have to be read again."""


class QueryableView(JobObserver):
    """Answers queries about the queryable states of one job, in any thread.

    Args:
        text: form of a key in queries; None if it has no text form.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        text: KeyText = lambda key: None,
    ) -> None:
        self._text = text
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._states: dict[TableId, QueryableState] = {}
        self._tables: dict[TableId, _QueryableTable] = {}
        self._shown: Manifest | None = None
        self._newest: Manifest | None = None
        self._problems: dict[TableId, Exception] = {}
        self._groups: list[_Group] = []
        self._follow: Callable[[frozenset[TableId]], StateFollower] | None = None
        self._closed = False
        self._thread: threading.Thread | None = None

    # -- called by the job, in its thread ------------------------------------------------------

    def started(self, job_dir: str) -> None:
        self._follow = lambda tables: StateFollower(job_dir, tables)
        self._thread = threading.Thread(target=self._run, name="queryable-state", daemon=True)
        self._thread.start()

    def accepted(self, acks: Sequence[Ack]) -> None:
        for ack in acks:
            for state in ack.queryable:
                with self._changed:
                    self._states[state.table] = state

    def committed(self, manifest: Manifest) -> None:
        with self._changed:
            self._newest = manifest
            self._changed.notify_all()

    def closed(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(LONGEST_END)  # it may be in the middle of loading

    # -- questions -----------------------------------------------------------------------------

    @property
    def checkpoint(self) -> int | None:
        """Number of the shown checkpoint; None if none has been read yet."""
        return None if self._shown is None else self._shown.checkpoint

    def states(self) -> list[QueryableState]:
        """Queryable states that the job has used so far."""
        with self._changed:
            return list(self._states.values())

    def keys(self, state: QueryableState) -> tuple[int, list[Any]]:
        """Number of keys in a state, and example keys: one for each shape of key.

        Raises:
            NotLoadedError: no checkpoint with that state has been read yet.
            StateError: the state cannot be read.
        """
        with self._changed:
            table = self._table(state)
            return len(table.data), list(table.examples.values())

    def written(self, state: QueryableState, text: str) -> list[Any]:
        """Keys whose text form is ``text``; plain numbers and strings are not searched. Raises
        the same errors as `keys`."""
        with self._changed:
            return list(self._table(state).written.get(text, ()))

    def read(self, state: QueryableState, keys: Iterable[Iterable[Any]]) -> QueryAnswer:
        """Values of ``keys`` in the shown checkpoint. Each item is a series of alternative keys,
        because a text can stand for several keys; the first alternative that exists counts.

        Raises:
            NotLoadedError: no checkpoint with that state has been read yet.
            StateError: the state cannot be read.
        """
        now = self._clock.now()
        with self._changed:
            table = self._table(state)
            assert self._shown is not None
            checkpoint, timestamp = self._shown.checkpoint, self._shown.timestamp
            raw = [_first(table.data, meant) for meant in keys]
            kind = table.kind
        entries = [(key, _visible(kind, value, state.ttl, now)) for key, value in raw]
        return QueryAnswer(checkpoint, timestamp, entries)

    def wait_for(self, checkpoint: int, timeout: float | None = None) -> bool:
        """Wait, at most ``timeout`` seconds, until the view shows that checkpoint or a later one;
        False if the time is over first.
        """
        with self._changed:
            return self._changed.wait_for(
                lambda: self._shown is not None and self._shown.checkpoint >= checkpoint, timeout
            )

    def _table(self, state: QueryableState) -> _QueryableTable:
        problem = self._problems.get(state.table)
        if problem is not None:
            raise StateError(f"queryable state '{state.name}' cannot be read: {problem}")
        table = self._tables.get(state.table)
        if table is None or self._shown is None:
            raise NotLoadedError(f"state '{state.name}' is still being loaded; ask again soon")
        return table

    # -- following, in the view's thread -------------------------------------------------------

    def _run(self) -> None:
        tables = None
        while (manifest := self._next()) is not None:
            wanted = frozenset(self._states)
            if wanted != tables:
                self._groups, tables = [_Group(wanted)], wanted
            try:
                self._show(manifest)
            except CheckpointCorruptError as error:
                # usually its files went away because newer checkpoints have come meanwhile
                log.info("queryable state skips checkpoint %d: %s", manifest.checkpoint, error)
                if len(self._groups) > 1:  # some may be at this checkpoint, others are not
                    self._groups = [_Group(group.names) for group in self._groups]

    def _next(self) -> Manifest | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._newest is not None)
            manifest, self._newest = self._newest, None
            return None if self._closed else manifest

    def _show(self, manifest: Manifest) -> None:
        """Bring all groups to a checkpoint and show it. If one table of a group cannot be read,
        its tables are followed separately from then on, so that the others can be read."""
        made: dict[TableId, _QueryableTable] = {}
        changed: list[tuple[StateFollower, Changes]] = []
        problems: dict[TableId, Exception] = {}
        waiting = list(self._groups)
        while waiting:
            group = waiting.pop(0)
            try:
                self._read(group, manifest, made, changed)
            except CheckpointCorruptError:
                raise
            except Exception as error:  # values whose classes are not here, for example
                group.follower = None
                if len(group.names) > 1:
                    self._groups.remove(group)
                    parts = [_Group(frozenset({name})) for name in sorted(group.names)]
                    self._groups += parts
                    waiting += parts
                else:
                    problems.update(dict.fromkeys(group.names, error))
        self._publish(manifest, made, changed, problems)

    def _read(
        self,
        group: _Group,
        manifest: Manifest,
        made: dict[TableId, _QueryableTable],
        changed: list[tuple[StateFollower, Changes]],
    ) -> None:
        if not group.names:
            return
        if group.follower is not None:
            changed.append((group.follower, group.follower.advance(manifest)))
            return
        assert self._follow is not None
        follower = self._follow(group.names)
        follower.load(manifest)
        for name in group.names:  # the bulk, before anyone has to wait
            made[name] = _QueryableTable(self._text)
            made[name].fill(follower.kind(name), follower.entries(name))
        group.follower = follower

    def _publish(
        self,
        manifest: Manifest,
        made: dict[TableId, _QueryableTable],
        changed: list[tuple[StateFollower, Changes]],
        problems: dict[TableId, Exception],
    ) -> None:
        if self._closed and problems:
            return  # the job's files may be gone by now
        for name in problems.keys() - self._problems.keys():
            log.warning("queryable state %s cannot be read: %s", name, problems[name])
        followed = frozenset[TableId]().union(*(group.names for group in self._groups))
        with self._changed:
            kept = {n: t for n, t in self._tables.items() if n in followed and n not in problems}
            self._tables = {**kept, **made}
            for follower, changes in changed:
                for name, entries in changes.items():
                    self._tables[name].change(follower.kind(name), entries)
            self._problems = problems
            if not problems or followed - problems.keys():
                self._shown = manifest
            self._changed.notify_all()


def _first(data: dict[Any, Any], keys: Iterable[Any]) -> tuple[Any, Any]:
    for key in keys:
        value = data.get(key, MISSING)
        if value is not MISSING:
            return key, value
    return MISSING, MISSING


def _visible(kind: TableKind, value: Any, ttl: int | None, now: int) -> Any:
    """Value of a table in the form that users see; MISSING if it has expired."""
    return kind.shown(value) if ttl is None else kind.alive(value, now - ttl)


def _shape(key: Any) -> Any:
    """Shape of a key: its type, or a tuple of shapes. Keys of one shape have the same form as
    text."""
    return tuple(map(_shape, key)) if type(key) is tuple else type(key)
