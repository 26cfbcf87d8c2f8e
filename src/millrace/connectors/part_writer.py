"""One part file in one epoch: what earlier epochs wrote and what this one adds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Protocol, cast

from millrace.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, in_form
from millrace.connectors.chunk_file import ChunkFile, adopt_chunk, join_chunks
from millrace.connectors.part_file import (
    Chunk,
    ObsoleteChunks,
    OpenPart,
    PartCommittable,
    PartNames,
)
from millrace.connectors.rolling_policy import PartFileInfo
from millrace.filesystem.file_system import PendingUpload
from millrace.filesystem.registry import file_system_of
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
    delimiter: bytes = b""
    """What stands between what two epochs wrote."""

    @property
    def takes(self) -> BatchForm:
        return self.encoder.takes

    def create(self, stream: BinaryIO, first_chunk: bool) -> BulkWriter[Any]:
        if not first_chunk:
            stream.write(self.delimiter)
        elif isinstance(self.encoder, HasHeader):
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

    def __init__(
        self, directory: str, names: PartNames, part: OpenPart, ends_with_epoch: bool = False
    ) -> None:
        self._files = file_system_of(directory)
        self._directory = directory
        self._direct = ends_with_epoch and not part.chunks
        """Whether what is written is the whole part, so that it need not be a chunk first."""
        self._names = names
        self._part = part
        self._file: ChunkFile | None = None
        self._writer: BulkWriter[Any] | None = None
        self.work_files: list[str] = []
        """Chunks that were written."""
        self.uploads: list[str] = []
        """Tokens of what was persisted."""

    @property
    def info(self) -> PartFileInfo:
        """What rolling policies look at."""
        part = self._part
        size = sum(chunk.length for chunk in part.chunks)
        size += self._file.length if self._file else 0
        times = part.creation_time, part.last_update_time
        return PartFileInfo(part.bucket, size, *times, part.checkpoints)

    def note_checkpoint(self) -> None:
        """A checkpoint was completed since the last epoch."""
        self._part = replace(self._part, checkpoints=self._part.checkpoints + 1)

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
        upload, obsolete = self._persisted()
        if upload.token not in obsolete:  # else a chunk becomes the part: not ours to take back
            self.uploads.append(upload.token)
        return PartCommittable(upload.token, upload.location, upload.length, obsolete)

    def _persisted(self) -> tuple[PendingUpload, tuple[str, ...]]:
        """The upload of the part, and the chunks that are not needed after its commit."""
        final = self._final_path()
        file = self._finished()
        if file is not None and self._direct:
            return file.persist(), ()
        earlier = self._part.chunks
        chunks = earlier if file is None else (*earlier, self._sealed(file))
        if len(chunks) == 1:
            return adopt_chunk(chunks[0], final), (chunks[0].path,)
        target = ChunkFile(final)
        join_chunks(chunks, target)
        upload = target.persist()
        for chunk in chunks[len(earlier) :]:
            self._files.delete(chunk.path)
            self.work_files.remove(chunk.path)
        return upload, tuple(chunk.path for chunk in earlier)

    def close_for_epoch(self) -> tuple[OpenPart, ObsoleteChunks | None]:
        """The part as the next epoch finds it, and chunks that it does not need any more."""
        file = self._finished()
        chunks = self._part.chunks if file is None else (*self._part.chunks, self._sealed(file))
        mergeable = _mergeable(chunks)
        obsolete = None
        if mergeable:
            target = ChunkFile(self._work_path("merged"))
            join_chunks(mergeable, target)
            merged = replace(self._sealed(target), level=mergeable[0].level + 1)
            chunks = (*chunks[: -len(mergeable)], merged)
            obsolete = ObsoleteChunks(tuple(chunk.path for chunk in mergeable))
        return replace(self._part, chunks=chunks), obsolete

    def discard(self) -> None:
        """Forget what is being written."""
        if self._file is not None:
            self._file.discard()

    def _open(self, part_format: PartFormat) -> BulkWriter[Any]:
        self._file = ChunkFile(
            self._final_path() if self._direct else self._work_path("inprogress")
        )
        first_chunk = not self._part.chunks
        self._writer = part_format.create(cast(BinaryIO, self._file), first_chunk)
        return self._writer

    def _finished(self) -> ChunkFile | None:
        if self._file is None or self._writer is None:
            return None
        self._writer.finish()
        return self._file

    def _sealed(self, file: ChunkFile) -> Chunk:
        chunk = file.seal()
        self.work_files.append(chunk.path)
        return chunk

    def _final_path(self) -> str:
        return os.path.join(self._directory, self._names.final(self._part))

    def _work_path(self, kind: str) -> str:
        return os.path.join(self._directory, self._names.work(self._part, kind))


def _mergeable(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    tail = chunks[-_MERGE_WIDTH:]
    same_level = len({chunk.level for chunk in tail}) == 1
    return tail if len(tail) == _MERGE_WIDTH and same_level else ()
