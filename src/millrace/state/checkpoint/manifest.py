"""Manifest of a checkpoint: the content of ``_metadata``. With this file, the checkpoint is
complete.

A checkpoint is complete when, and only when, its manifest is in its place. It names everything a
run needs to go on: the files that make up the state, the positions of the sources, and what the
sinks have yet to commit. It is JSON text, so that people can look into it; bytes are base64, but
positions in a canonical savepoint are JSON, too.
"""

from __future__ import annotations

import dataclasses
import zlib
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, get_type_hints

import msgspec

from millrace.common.errors import CheckpointCorruptError, CheckpointError, JobDefinitionError
from millrace.common.typed_json import decode_json
from millrace.common.types.logical.parser import parse_type
from millrace.state.canonical.stored_state import StoredState, check_path
from millrace.state.checkpoint.delta_file import DeltaFileRef, SubtaskKey
from millrace.state.checkpoint.directory import metadata_path
from millrace.state.checkpoint.files import StrPath, opened, size_of_opened
from millrace.state.key_groups import MAX_KEY_GROUPS
from millrace.state.serialization.payload import TAGGED
from millrace.state.serialization.tagged_values import json_of_tagged, tagged_of_json

__all__ = ["FORMAT_VERSION", "QUERY_UIDS", "Manifest", "read_manifest", "read_manifest_file"]

FORMAT_VERSION = 2
QUERY_UIDS = 2
"""Number of the way in which operators of queries get their uids (`millrace.planner.execution`).
With another number, queries do not find their state. Manifests without a number have the first
way, which derived uids from the texts of expressions."""
MAX_BYTES = 512 << 20
"""Limit for the bytes of a manifest; a longer one is neither written nor read. Most of a long
manifest is pending committables."""
MAX_PARTS = 2_000_000
"""Limit for the number of values in the JSON. Each may take a hundred bytes of memory, and only
two bytes of text."""
MAX_TYPE_TEXT = 1 << 20
"""Maximum number of characters of all types in a manifest together."""
NATIVE: Final = "NATIVE"
CANONICAL: Final = "CANONICAL"
_FORMAT = "millrace snapshot"
_CHECKSUM = b',\n "checksum": "crc32:'
_END = b'"\n}\n'
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Manifest of a checkpoint: its files and positions (Flink docs, "Checkpoints", "Savepoints").

    Example:
        >>> manifest = Manifest(
        ...     job_id="count-1", job_name="count", run_id="r1", checkpoint=1, epoch=7,
        ...     timestamp=0, parent=None, max_parallelism=128, stages={"s": 1},
        ...     operators={"s": "count"}, versions={("s", 0): "r1-7"}, delta_files=(),
        ...     sources={}, pending={},
        ... )
        >>> Manifest.decode(manifest.encode(), "chk-1/_metadata") == manifest
        True
    """

    format_version: int = FORMAT_VERSION
    job_id: str = ""
    job_name: str
    run_id: str = ""
    """Id of the run that wrote the checkpoint."""
    program: str = ""
    """File of the program that wrote the checkpoint; empty for an interactive session."""
    checkpoint: int = 0
    """Number of the checkpoint. Later checkpoints of a job have greater numbers."""
    epoch: int
    timestamp: int
    """Time at which the checkpoint was made, in milliseconds since the epoch of Unix."""
    parent: int | None = None
    """Number of the previous checkpoint in the history; None for the first."""
    max_parallelism: int
    stages: dict[str, int]
    """Parallelism by stage uid."""
    operators: dict[str, str]
    """Names of operators, by uid."""
    versions: dict[SubtaskKey, str]
    """State version of every subtask that has state."""
    delta_files: tuple[DeltaFileRef, ...] = ()
    sources: dict[str, bytes]
    """Encoded state of each source's enumerator, and the positions of its splits, by source uid."""
    pending: dict[str, list[bytes]]
    """Encoded committables by sink uid, which this run commits, or else the next one."""
    kind: Literal["checkpoint", "savepoint"] = "checkpoint"
    finished: bool = False
    """Whether the job ended with this checkpoint."""
    snapshot_id: str = ""
    """Id that is unique among all snapshots of all jobs."""
    ancestor: str = ""
    """The `snapshot_id` of the last savepoint in the checkpoint's history: versions of state
    form a tree."""
    chains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Uids of the operators of each stage, in order, by stage uid."""
    inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Uids of the operators that feed each stage, in the order of its inputs, by stage uid."""
    stateful: tuple[str, ...] = ()
    """Uids of the operators that have state."""
    format_type: Literal["NATIVE", "CANONICAL"] = "NATIVE"
    """Format of the state: native, for the job that wrote it, or canonical, for all readers."""
    states: tuple[StoredState, ...] = ()
    """States of a canonical savepoint, which has no deltas."""
    query_uids: int = QUERY_UIDS
    """Number of the way in which the operators of queries got their uids (see `QUERY_UIDS`)."""

    def encode(self) -> bytes:
        """Content of a ``_metadata`` file.

        Raises:
            CheckpointError: the manifest is too long, so that no reader would accept it.
        """
        content: dict[str, Any] = {"format": _FORMAT}
        content.update((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        content["versions"] = _by_stage(self.versions)
        if self.format_type == CANONICAL:
            content["sources"] = {uid: _json(data) for uid, data in self.sources.items()}
        text = msgspec.json.format(msgspec.json.encode(content), indent=1)
        body = text.removesuffix(b"\n}")
        data = b"%s%s%08x%s" % (body, _CHECKSUM, zlib.crc32(body), _END)
        self._refuse_unreadable(data)
        return data

    def _refuse_unreadable(self, data: bytes) -> None:
        parts = _parts(data)
        if len(data) <= MAX_BYTES and parts <= MAX_PARTS:
            return
        pending = {uid: sum(map(len, items)) for uid, items in self.pending.items()}
        most = max(pending, key=pending.__getitem__, default=None)
        because = "" if most is None else f" {pending[most]:,} bytes are pending in sink '{most}':"
        raise CheckpointError(
            f"checkpoint {self.checkpoint} would have a manifest of {len(data):,} bytes and "
            f"{parts:,} parts, but only {MAX_BYTES:,} bytes and {MAX_PARTS:,} parts can be "
            f"read back.{because} make checkpoints more often, so that each contains less"
        )

    @staticmethod
    def decode(data: bytes, path: StrPath) -> Manifest:
        """Decode the manifest in ``data``; errors name it by ``path``.

        Raises:
            CheckpointCorruptError: the data is damaged.
            CheckpointError: the data is of another format version.
        """
        if _parts(data) > MAX_PARTS:
            raise CheckpointCorruptError(path, f"it has more than {MAX_PARTS:,} parts")
        try:
            fields = decode_json(data, dict[str, msgspec.Raw])
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise CheckpointCorruptError(
                path, f"it is not the JSON that was written: {error}"
            ) from None
        body, _, checksum = data.rpartition(_CHECKSUM)
        if checksum != b"%08x%s" % (zlib.crc32(body), _END):
            raise CheckpointCorruptError(path, "its checksum differs")
        try:
            if _read(fields, "format", str) != _FORMAT:
                raise CheckpointCorruptError(path, "it is not marked as a snapshot")
            _refuse_version(path, _read(fields, "format_version", int))
            manifest = _from_fields(fields)
            _check_widths(manifest)
        except (JobDefinitionError, RecursionError, TypeError, ValueError) as error:
            raise CheckpointCorruptError(path, f"a field is wrong or missing ({error})") from error
        return manifest


_LONGEST_REASON = 500
"""Maximum characters of a decoder's message, which repeats the input that it does not know."""

_FIELDS: dict[str, Any] = {
    **get_type_hints(Manifest),
    "versions": dict[str, dict[int, str]],
    "sources": dict[str, Any],
}
"""Types of the fields in JSON, as declared by `Manifest`. Exceptions are versions, which JSON
has by stage and subtask, and positions of sources, which are JSON in a canonical savepoint."""
_ADDED: dict[str, Any] = {"query_uids": 1}
"""Values of added fields in manifests that are older than the field."""


def _parts(data: bytes) -> int:
    """Upper bound for the number of values in JSON bytes."""
    return sum(map(data.count, (b",", b"[", b"{")))


def _read(fields: dict[str, msgspec.Raw], name: str, hint: type[T]) -> T:
    """Field ``name``, decoded as the type ``hint``.

    Raises:
        ValueError: the field has another type or is missing; the message names the field.
    """
    raw = fields.get(name)
    if raw is None:
        raise ValueError(f"{name} is missing")
    try:
        return decode_json(raw, hint)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {str(error)[:_LONGEST_REASON]}") from None


def _refuse_version(path: StrPath, version: int) -> None:
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has format version {version}, this release of millrace reads version "
            f"{FORMAT_VERSION}; use the release that wrote it, or a newer one"
        )


def _by_stage(versions: dict[SubtaskKey, str]) -> dict[str, dict[int, str]]:
    by_stage: dict[str, dict[int, str]] = {}
    for (stage, subtask), version in versions.items():
        by_stage.setdefault(stage, {})[subtask] = version
    return by_stage


def _json(data: bytes) -> Any:
    if data[:1] != TAGGED:
        raise ValueError("a canonical savepoint has a part in a native encoding")
    return json_of_tagged(data[1:])


def _tagged(value: Any) -> bytes:
    return TAGGED + tagged_of_json(value)


def _bytes(value: Any) -> bytes:
    return msgspec.convert(value, bytes)


def _from_fields(fields: dict[str, msgspec.Raw]) -> Manifest:
    content = {
        name: _ADDED[name] if name in _ADDED and name not in fields else _read(fields, name, hint)
        for name, hint in _FIELDS.items()
    }
    by_stage: dict[str, dict[int, str]] = content["versions"]
    content["versions"] = {
        (stage, subtask): version
        for stage, versions in by_stage.items()
        for subtask, version in versions.items()
    }
    as_bytes = _tagged if content["format_type"] == CANONICAL else _bytes
    content["sources"] = {uid: as_bytes(source) for uid, source in content["sources"].items()}
    _check_states(content["states"])
    return Manifest(**content)


def _check_states(states: tuple[StoredState, ...]) -> None:
    """Check the schemas and paths of states, because the readers of the files rely on them."""
    schemas = {str(s) for state in states for s in state.columns.values()}
    schemas |= {str(s) for state in states for s in (state.schema or ())[1:]}
    if sum(map(len, schemas)) > MAX_TYPE_TEXT:
        raise ValueError("the types in states are too long")
    for schema in schemas:
        parse_type(schema)
    for state in states:
        for file in state.files:
            check_path(file.path)


def _check_widths(manifest: Manifest) -> None:
    """Check the parallelism of stages and the subtask numbers: a job that restores the
    checkpoint makes a subtask for each number below them."""
    highest, stages = manifest.max_parallelism, manifest.stages
    if not 1 <= highest <= MAX_KEY_GROUPS:
        raise ValueError("max_parallelism is out of range")
    if not all(1 <= width <= highest for width in stages.values()):
        raise ValueError("the parallelism of a stage is out of range")
    if not all(0 <= index < stages.get(uid, 0) for uid, index in manifest.versions):
        raise ValueError("versions has a subtask that does not exist")
    if not all(
        0 <= file.subtask < stages.get(state.stage, 0)
        for state in manifest.states
        for file in state.files
    ):
        raise ValueError("states has a subtask that does not exist")
    if not manifest.chains.keys() <= stages.keys():
        raise ValueError("chains has a stage that does not exist")


def read_manifest(job_dir: StrPath, number: int) -> Manifest:
    """Manifest of a checkpoint.

    Raises:
        CheckpointCorruptError: it is missing or damaged.
        CheckpointError: the manifest has a newer format, or cannot be read.
    """
    return read_manifest_file(metadata_path(job_dir, number))


def read_manifest_file(path: StrPath) -> Manifest:
    """The manifest in a ``_metadata`` file. Raises the same errors as `read_manifest`."""
    with opened(path) as file:
        length = size_of_opened(file)
        if length > MAX_BYTES:
            raise CheckpointCorruptError(path, f"it has {length} bytes, more than any manifest")
        data = file.read(length)
    return Manifest.decode(data, path)
