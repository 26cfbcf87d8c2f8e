"""One part file in one epoch: what earlier epochs wrote and what this one adds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Protocol, cast

from millrace.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, in_form
from millrace.connectors.chunk_file import ChunkFile, join_chunks
from millrace.connectors.durable_files import delete_if_there
from millrace.connectors.part_file import (
    Chunk,
    ObsoleteChunks,
    OpenPart,
    PartCommittable,
    PartNames,
)
from millrace.connectors.rolling_policy import PartFileInfo
from millrace.formats.encoder_writer import EncoderBulkWriter
from millrace.formats.header import HasHeader

__all__ = ["BulkParts", "PartFormat", "PartWriter", "RowParts"]

# Chunks of one level are merged when there are this many, so that a long part written in short
# epochs has few chunks and each byte is copied a handful of times.
_MERGE_WIDTH = 32


class PartFormat(Protocol):
    """Opens the writer of an epoch's chunk."""

    @property
    def takes(self) -> BatchForm:
        """The form in which its writers get batches."""
        ...

    def create(self, stream: BinaryIO, first_chunk: bool) -> BulkWriter[Any]:
        """A writer into ``stream``; only the first chunk of a part gets a header."""
        ...


@dataclass(frozen=True, slots=True)
class RowParts:
    """Parts of records that an encoder writes one after the other."""

    encoder: Encoder[Any]

    @property
    def takes(self) -> BatchForm:
        return self.encoder.takes

    def create(self, stream: BinaryIO, first_chunk: bool) -> BulkWriter[Any]:
        if first_chunk and isinstance(self.encoder, HasHeader):
            stream.write(self.encoder.header())
        return EncoderBulkWriter(stream, self.encoder)


@dataclass(frozen=True, slots=True)
class BulkParts:
    """Parts that are complete files from the first: they never have a second chunk."""

    factory: BulkWriterFactory[Any]

    @property
    def takes(self) -> BatchForm:
        return self.factory.takes

    def create(self, stream: BinaryIO, first_chunk: bool) -> BulkWriter[Any]:
        return self.factory.create(stream)


class PartWriter:
    """Adds records to a part and closes it for the epoch or for good."""

    def __init__(self, directory: str, names: PartNames, part: OpenPart) -> None:
        self._directory = directory
        self._names = names
        self._part = part
        self._file: ChunkFile | None = None
        self._writer: BulkWriter[Any] | None = None
        self.work_files: list[str] = []

    @property
    def info(self) -> PartFileInfo:
        """What rolling policies look at."""
        part = self._part
        size = sum(chunk.length for chunk in part.chunks)
        size += self._file.length if self._file else 0
        return PartFileInfo(part.bucket, size, part.creation_time, part.last_update_time)

    def write(self, batch: Batch, part_format: PartFormat, now: int) -> None:
        """Add records."""
        writer = self._writer or self._open(part_format)
        batch = in_form(batch, part_format.takes)
        if isinstance(batch, ColumnBatch):
            writer.add_columns(batch)
        else:
            writer.add_elements(batch.values)
        self._part = replace(self._part, last_update_time=now)

    def close_for_good(self) -> PartCommittable:
        """The whole part as one pending file."""
        earlier, own = self._part.chunks, self._seal(durable=not self._part.chunks)
        chunks = earlier if own is None else (*earlier, own)
        pending = chunks[0]
        if len(chunks) > 1:
            pending = join_chunks(chunks, self._work_path("pending"))
            if own is not None:
                delete_if_there(own.path)
        obsolete = tuple(chunk.path for chunk in earlier if chunk is not pending)
        final = os.path.join(self._directory, self._names.final(self._part))
        return PartCommittable(pending.path, final, pending.length, obsolete)

    def close_for_epoch(self) -> tuple[OpenPart, ObsoleteChunks | None]:
        """The part as the next epoch finds it, and chunks that it does not need any more."""
        own = self._seal(durable=True)
        chunks = self._part.chunks if own is None else (*self._part.chunks, own)
        mergeable = _mergeable(chunks)
        obsolete = None
        if mergeable:
            merged = join_chunks(mergeable, self._work_path("merged"))
            level = mergeable[0].level + 1
            kept = chunks[: -len(mergeable)]
            chunks = (*kept, Chunk(merged.path, merged.length, merged.crc, level))
            obsolete = ObsoleteChunks(tuple(chunk.path for chunk in mergeable))
        return replace(self._part, chunks=chunks), obsolete

    def _open(self, part_format: PartFormat) -> BulkWriter[Any]:
        self._file = ChunkFile(self._work_path("inprogress"))
        first_chunk = not self._part.chunks
        self._writer = part_format.create(cast(BinaryIO, self._file), first_chunk)
        return self._writer

    def _seal(self, durable: bool) -> Chunk | None:
        if self._file is None or self._writer is None:
            return None
        self._writer.finish()
        return self._file.seal(durable)

    def _work_path(self, kind: str) -> str:
        path = os.path.join(self._directory, self._names.work(self._part, kind))
        self.work_files.append(path)
        return path


def _mergeable(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    tail = chunks[-_MERGE_WIDTH:]
    same_level = len({chunk.level for chunk in tail}) == 1
    return tail if len(tail) == _MERGE_WIDTH and same_level else ()
