"""The manifest of a checkpoint: the content of ``_metadata``, and the point of no return.

A checkpoint is complete when, and only when, its manifest is in its place. It names everything a
run needs to go on: the layer files that make up the state, the positions of the sources, and what
the sinks have yet to commit.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millrace.common.errors import CheckpointCorruptError
from millrace.state.checkpoint.directory import metadata_path
from millrace.state.checkpoint.envelope import seal, unseal
from millrace.state.checkpoint.files import StrPath, reading
from millrace.state.checkpoint.layer_file import LayerFileRef, SubtaskKey
from millrace.state.checkpoint.plain_shape import require
from millrace.state.key_groups import MAX_KEY_GROUPS

__all__ = ["FORMAT_VERSION", "Manifest", "read_manifest"]

FORMAT_VERSION = 1
_MAGIC = b"MRCHKPNT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a checkpoint consists of (Flink docs, "Checkpoints" and "Savepoints").

    Example:
        >>> manifest = Manifest(
        ...     job_id="count-1", job_name="count", run_id="r1", checkpoint=1, epoch=7,
        ...     timestamp=0, parent=None, max_parallelism=128, stages={"s": 1},
        ...     operators={"s": "count"}, versions={("s", 0): "r1-7"}, layer_files=(),
        ...     sources={}, pending={},
        ... )
        >>> Manifest.decode(manifest.encode(), "chk-1/_metadata") == manifest
        True
    """

    format_version: int = FORMAT_VERSION
    job_id: str = ""
    job_name: str
    run_id: str = ""
    """The run that wrote it."""
    checkpoint: int = 0
    """Its number; later ones of a job are greater."""
    epoch: int
    timestamp: int
    """When it was made, in milliseconds since the epoch of Unix."""
    parent: int | None = None
    """The checkpoint before it in its history; None: it is the first."""
    max_parallelism: int
    stages: dict[str, int]
    """Stage uid -> parallelism."""
    operators: dict[str, str]
    """Operator uid -> name."""
    versions: dict[SubtaskKey, str]
    """The state version of every subtask that has state."""
    layer_files: tuple[LayerFileRef, ...] = ()
    sources: dict[str, bytes]
    """Source uid -> what its enumerator and its splits are at; opaque here."""
    pending: dict[str, list[bytes]]
    """Sink uid -> committables to be committed, by the next run if this one cannot; opaque here."""
    kind: str = "checkpoint"
    """Or "savepoint"."""
    finished: bool = False
    """Whether the job ended with this checkpoint."""
    feedback: bytes = b""
    """What goes round in loops; opaque here."""
    snapshot_id: str = ""
    """Unique over all snapshots of all jobs."""
    ancestor: str = ""
    """The `snapshot_id` of the last savepoint in its history: versions of state form a tree."""
    chains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Stage uid -> uids of its operators, in order."""
    inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Stage uid -> uids of the operators that feed it, in the order of its inputs."""
    stateful: tuple[str, ...] = ()
    """Uids of the operators that have state."""

    def encode(self) -> bytes:
        """The content of a ``_metadata`` file."""
        content = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        content["layer_files"] = [_row(ref) for ref in self.layer_files]
        return seal(_MAGIC, self.format_version, content)

    @staticmethod
    def decode(data: bytes, path: StrPath) -> Manifest:
        """The manifest in ``data``; ``path`` is what errors call it.

        Raises:
            CheckpointCorruptError: the data is damaged in whatever way.
            CheckpointError: the data is of a later format.
        """
        content = unseal(path, _MAGIC, FORMAT_VERSION, data)
        try:
            manifest = _from_content(content)
            _check_widths(manifest)
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise CheckpointCorruptError(path, f"a field is wrong or missing ({error})") from error
        return manifest


_FIELDS: dict[str, Any] = {
    "job_id": str,
    "job_name": str,
    "run_id": str,
    "checkpoint": int,
    "epoch": int,
    "timestamp": int,
    "parent": int | None,
    "max_parallelism": int,
    "stages": dict[str, int],
    "operators": dict[str, str],
    "versions": dict[tuple[str, int], str],
    "sources": dict[str, bytes],
    "pending": dict[str, list[bytes]],
    "kind": str,
    "finished": bool,
    "feedback": bytes,
    "snapshot_id": str,
    "ancestor": str,
    "chains": dict[str, tuple[str, ...]],
    "inputs": dict[str, tuple[str, ...]],
    "stateful": tuple[str, ...],
}
"""What whoever reads a manifest relies on."""


def _row(ref: LayerFileRef) -> tuple[str, int, int, int, int, int]:
    return (ref.path, ref.length, ref.index_offset, ref.index_crc, ref.layers, ref.tier)


def _from_content(content: dict[str, Any]) -> Manifest:
    refs = tuple(LayerFileRef(*row) for row in content["layer_files"])
    for ref in refs:
        require(_row(ref), tuple[str, int, int, int, int, int], "layer_files")
    for name, hint in _FIELDS.items():
        if name in content:
            require(content[name], hint, name)
    return Manifest(**{**content, "layer_files": refs})


def _check_widths(manifest: Manifest) -> None:
    """Whoever goes on from it counts up to them."""
    highest, stages = manifest.max_parallelism, manifest.stages
    if not 1 <= highest <= MAX_KEY_GROUPS:
        raise ValueError("max_parallelism is out of range")
    if not all(1 <= width <= highest for width in stages.values()):
        raise ValueError("the parallelism of a stage is out of range")
    if not all(0 <= index < stages.get(uid, 0) for uid, index in manifest.versions):
        raise ValueError("versions has a subtask that is not there")
    if not manifest.chains.keys() <= stages.keys():
        raise ValueError("chains has a stage that is not there")


def read_manifest(job_dir: StrPath, number: int) -> Manifest:
    """The manifest of a checkpoint.

    Raises:
        CheckpointCorruptError: it is missing or damaged.
        CheckpointError: it is of a later format, or cannot be read.
    """
    path = metadata_path(job_dir, number)
    with reading(path):
        data = Path(path).read_bytes()
    return Manifest.decode(data, path)
