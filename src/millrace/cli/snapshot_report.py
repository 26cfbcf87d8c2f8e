"""Report of one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.cli.printing import plural, size_text
from millrace.cli.savepoint_summary import parallelism
from millrace.common.errors import MillraceError, SerializationError
from millrace.common.source import SourceSplit
from millrace.common.time.local_time import time_text
from millrace.common.types.short_values import shown as short_shown
from millrace.filesystem.registry import exists
from millrace.state.checkpoint.directory import COMMITTED
from millrace.state.checkpoint.files import length_of
from millrace.state.checkpoint.savepoints import files_of
from millrace.state.serialization.payload import decode
from millrace.state.serialization.schema import ANY, shown
from millrace.state.snapshot_diff import is_about_data
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state.table_id import TableId


class SnapshotReport:
    """Report of ``savepoint show``: the operators and states of a snapshot.

    Args:
        reader: reader of the snapshot.
        internal: whether to name the states that operators keep for themselves.
        count: whether to read the states and count their entries.
    """

    def __init__(self, reader: SnapshotReader, internal: bool = False, count: bool = True) -> None:
        self._snapshot = snapshot = reader.snapshot
        self._manifest = snapshot.manifest
        self._reader = reader
        self.unread: list[str] = []
        """States that were not counted, with the reasons."""
        self._internal = internal
        self._states = [s for s in self._reader.states() if internal or is_about_data(s)]
        self._by_uid: dict[str, list[StateInfo]] = {}
        for info in self._states:
            self._by_uid.setdefault(info.uid, []).append(info)
        chains = self._manifest.chains.items()
        self._stages = {uid: stage for stage, uids in chains for uid in uids}
        self._counts = self._counted() if count else {}
        # what is named as pending may have been committed since
        committed = exists(f"{snapshot.path}/{COMMITTED}")
        self._pending = {} if committed else self._manifest.pending
        self._files = files_of(snapshot)
        self._size = sum(map(length_of, self._files))

    def _counted(self) -> dict[TableId, int]:
        """Number of entries of each readable state."""
        counts = {}
        for info in self._states:
            try:
                counts[info.table] = sum(1 for _ in self._reader.entries(info))
            except SerializationError as error:
                self.unread.append(f"{info.table} was not counted: {error}")
        return counts

    def as_json(self) -> dict[str, Any]:
        """Report for machines; times in ms since the Unix epoch, sizes in bytes."""
        manifest = self._manifest
        return {
            "kind": manifest.kind,
            "path": str(self._snapshot.path),
            "id": manifest.snapshot_id,
            "parent": manifest.ancestor or None,
            "job": manifest.job_name,
            "job_id": manifest.job_id,
            "run": manifest.run_id,
            "time": manifest.timestamp,
            "checkpoint": manifest.checkpoint,
            "epoch": manifest.epoch,
            "finished": manifest.finished,
            "size": self._size,
            "files": len(self._files),
            "parallelism": parallelism(self._snapshot),
            "max_parallelism": manifest.max_parallelism,
            "operators": [self._operator_json(uid) for uid in manifest.operators],
            "sources": {uid: describe_source(data) for uid, data in manifest.sources.items()},
            "pending_commits": {uid: len(parts) for uid, parts in self._pending.items()},
        }

    def _operator_json(self, uid: str) -> dict[str, Any]:
        return {
            "uid": uid,
            "name": self._manifest.operators[uid],
            "parallelism": self._parallelism_of(uid),
            "states": list(map(self._state_json, self._by_uid.get(uid, ()))),
        }

    def _state_json(self, info: StateInfo) -> dict[str, Any]:
        return {
            "name": info.name,
            "kind": info.shape.value,
            "type": _type_of(info) or None,
            "expires": info.has_ttl,
            "entries": self._counts.get(info.table),
        }

    def lines(self) -> Iterator[str]:
        """Report for people."""
        manifest = self._manifest
        yield f"{manifest.kind} {self._snapshot.path}"
        for name, value in self._facts().items():
            yield f"  {name:<12} {value}"
        yield "operators"
        for uid, name in manifest.operators.items():
            yield f"  {name} (uid {uid}){_times(self._parallelism_of(uid))}"
            for info in self._by_uid.get(uid, ()):
                if not self._is_idle(info):
                    yield f"    {self._state_text(info)}"
            if uid in manifest.sources:
                yield from (f"    {line}" for line in describe_source(manifest.sources[uid]))
            if self._pending.get(uid):
                yield f"    {plural(len(self._pending[uid]), 'pending commit')}"

    def _facts(self) -> dict[str, str]:
        manifest = self._manifest
        end = ", after which the job had finished" if manifest.finished else ""
        return {
            "job": f"{manifest.job_name} ({manifest.job_id})",
            "id": manifest.snapshot_id or "none",
            "parent": manifest.ancestor or "none",
            "made": time_text(manifest.timestamp),
            "checkpoint": f"{manifest.checkpoint}, before epoch {manifest.epoch}{end}",
            "size": f"{size_text(self._size)} in {plural(len(self._files), 'file')}",
            "parallelism": f"{parallelism(self._snapshot)}, at most {manifest.max_parallelism}",
        }

    def _parallelism_of(self, uid: str) -> int | None:
        """Parallelism of an operator; None if the snapshot's version did not record the
        operators of a stage."""
        return self._manifest.stages.get(self._stages.get(uid, uid))

    def _is_idle(self, info: StateInfo) -> bool:
        """Whether a table is internal and empty, so that the report leaves it out unless
        internal tables are requested."""
        counted = self._counts.get(info.table)
        return info.internal and not self._internal and counted == 0

    def _state_text(self, info: StateInfo) -> str:
        kind = info.shape.value + (", expires" if info.has_ttl else "")
        kind += f" of {_type_of(info)}" if _type_of(info) else ""
        count = self._counts.get(info.table)
        entries = "" if count is None else f": {count:,} entries"
        if count == 1:
            entries = ": 1 entry"
        return f"{info.name} ({kind}){entries}"


def _type_of(info: StateInfo) -> str:
    """Type of a state's values, for a map also of its keys; empty if none is declared."""
    if not isinstance(info.schema, tuple):
        return ""
    _, _, inner, value = info.schema
    return " to ".join(shown(part) for part in (inner, value) if part != ANY)


def _times(parallelism: int | None) -> str:
    return "" if parallelism is None else f" x {parallelism}"


_SHOWN = 10
"""Splits of a source that are described."""


def describe_source(data: bytes) -> list[str]:
    """A line per split: its name and its position.

    Args:
        data: the state of the source's coordinator in the checkpoint.
    """
    try:
        state = decode(data)
        assigned, waiting = state["assigned"], state["waiting"]
    except (MillraceError, ValueError, KeyError, TypeError):
        return [f"its position is in objects of the job's own ({len(data)} bytes)"]
    lines = [f"split {_name(split)}: {_position(position)}" for split, _, position in assigned]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more splits"]
    if waiting:
        lines.append(f"{len(waiting):,} splits that no subtask reads yet")
    return lines or ["no split is being read"]


def _name(split: Any) -> str:
    return split.split_id if isinstance(split, SourceSplit) else short_shown(split)


def _position(position: Any) -> str:
    return "not begun" if position is None else f"read up to {short_shown(position)}"
