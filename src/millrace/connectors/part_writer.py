"""Writer of one part file in one epoch: adds a chunk to the chunks of earlier epochs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Protocol, cast

from millrace.common.errors import SerializationError
from millrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    Encoder,
    JoiningBulkWriterFactory,
)
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, in_form
from millrace.connectors.chunk_file import ChunkFile, adopt_chunk, join_chunks, opened_chunks
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

# So many chunks of one level are merged into one of the next, so that a long part written in short
# epochs has few chunks, and each byte is copied only once per level.
_MERGE_WIDTH = 32


class PartFormat(Protocol):
    """Makes writers for the chunks of parts, and joins chunks."""

    @property
    def takes(self) -> BatchForm:
        """The form of batches that the format's writers accept."""
        ...

    def create(self, stream: BinaryIO, first_chunk: bool) -> BulkWriter[Any]:
        """A writer to ``stream``; only the first chunk of a part gets a header."""
        ...

    def join(self, chunks: Sequence[Chunk], target: ChunkFile) -> None:
        """Write the contents of several chunks of a part to a new file."""
        ...


@dataclass(frozen=True, slots=True)
class RowParts:
    """Parts of records that an encoder writes one after the other."""

    encoder: Encoder[Any]
    delimiter: bytes = b""
    """Bytes between the records of one epoch and those of the next."""

    @property
    def takes(self) -> BatchForm:
        return self.encoder.takes

    def create(self, stream: BinaryIO, first_chunk: bool) -> BulkWriter[Any]:
        if not first_chunk:
            stream.write(self.delimiter)
        elif isinstance(self.encoder, HasHeader):
            stream.write(self.encoder.header())
        return EncoderBulkWriter(stream, self.encoder)

    def join(self, chunks: Sequence[Chunk], target: ChunkFile) -> None:
        join_chunks(chunks, target)


@dataclass(frozen=True, slots=True)
class BulkParts:
    """Parts of a bulk format, such as Parquet, whose chunks are complete files. If a part spans
    several epochs, its records are written to a new file when it ends."""

    factory: BulkWriterFactory[Any]

    @property
    def takes(self) -> BatchForm:
        return self.factory.takes

    def create(self, stream: BinaryIO, first_chunk: bool) -> BulkWriter[Any]:
        return self.factory.create(stream)

    def join(self, chunks: Sequence[Chunk], target: ChunkFile) -> None:
        assert isinstance(self.factory, JoiningBulkWriterFactory)
        self.factory.join(opened_chunks(chunks), cast(BinaryIO, target))


class PartWriter:
    """Adds records to a part. At the end of the epoch, it closes the part or leaves it to the next
    epoch.
    """

    def __init__(
        self,
        directory: str,
        names: PartNames,
        part: OpenPart,
        part_format: PartFormat,
        ends_with_epoch: bool = False,
    ) -> None:
        self._files = file_system_of(directory)
        self._directory = directory
        self._direct = ends_with_epoch and not part.chunks
        """Whether this epoch writes the whole part, directly to its final file: no chunks."""
        self._names = names
        self._part = part
        self._format = part_format
        self._file: ChunkFile | None = None
        self._writer: BulkWriter[Any] | None = None
        self.work_files: list[str] = []
        """Paths of the chunks that this epoch wrote."""
        self.uploads: list[str] = []
        """Tokens of the pending uploads of finished parts."""

    @property
    def info(self) -> PartFileInfo:
        """Size and times of the part, for the rolling policy."""
        part = self._part
        size = sum(chunk.length for chunk in part.chunks)
        size += self._file.length if self._file else 0
        times = part.creation_time, part.last_update_time
        return PartFileInfo(part.bucket, size, *times, part.checkpoints)

    def note_checkpoint(self) -> None:
        """Record that a checkpoint was completed since the last epoch."""
        self._part = replace(self._part, checkpoints=self._part.checkpoints + 1)

    def write(self, batch: Batch, now: int) -> None:
        """Add records to the part."""
        writer = self._writer or self._open()
        batch = in_form(batch, self._format.takes)
        with self._naming_the_file():
            if isinstance(batch, ColumnBatch):
                writer.add_columns(batch)
            else:
                writer.add_elements(batch.values)
        self._part = replace(self._part, last_update_time=now)

    def close_for_commit(self) -> PartCommittable:
        """Finish the part: all its chunks become one pending file."""
        upload, obsolete = self._pending_upload()
        # a chunk of an earlier epoch that becomes the part must outlive a failure of this one
        if upload.token not in obsolete:
            self.uploads.append(upload.token)
        return PartCommittable(upload.token, upload.location, upload.length, obsolete)

    def _pending_upload(self) -> tuple[PendingUpload, tuple[str, ...]]:
        """Upload of the part, and the chunks that are obsolete after its commit."""
        final = self._final_path()
        file = self._finished()
        if file is not None and self._direct:
            return file.persist(), ()
        earlier = self._part.chunks
        chunks = earlier if file is None else (*earlier, self._sealed(file))
        if len(chunks) == 1:
            return adopt_chunk(chunks[0], final), (chunks[0].path,)
        upload = self._joined(chunks, final).persist()
        for chunk in chunks[len(earlier) :]:
            self._files.delete(chunk.path)
            self.work_files.remove(chunk.path)
        return upload, tuple(chunk.path for chunk in earlier)

    def persist(self) -> tuple[OpenPart, ObsoleteChunks | None]:
        """Close the chunk. Returns the part for the next epoch's writer, and the chunks that are
        obsolete after a merge."""
        file = self._finished()
        chunks = self._part.chunks if file is None else (*self._part.chunks, self._sealed(file))
        mergeable = _mergeable(chunks)
        obsolete = None
        if mergeable:
            target = self._joined(mergeable, self._work_path("merged"))
            merged = replace(self._sealed(target), level=mergeable[0].level + 1)
            chunks = (*chunks[: -len(mergeable)], merged)
            obsolete = ObsoleteChunks(tuple(chunk.path for chunk in mergeable))
        return replace(self._part, chunks=chunks), obsolete

    def discard(self) -> None:
        """Close and delete the chunk of this epoch."""
        if self._file is not None:
            self._file.discard()

    def _joined(self, chunks: Sequence[Chunk], path: str) -> ChunkFile:
        target = ChunkFile(path)
        try:
            with self._naming_the_file():
                self._format.join(chunks, target)
        except BaseException:
            target.discard()
            raise
        return target

    def _open(self) -> BulkWriter[Any]:
        self._file = ChunkFile(
            self._final_path() if self._direct else self._work_path("inprogress")
        )
        first_chunk = not self._part.chunks
        self._writer = self._format.create(cast(BinaryIO, self._file), first_chunk)
        return self._writer

    def _finished(self) -> ChunkFile | None:
        if self._file is None or self._writer is None:
            return None
        with self._naming_the_file():
            self._writer.finish()
        return self._file

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except SerializationError as error:
            raise SerializationError(f"{self._final_path()}: {error}") from error.__cause__

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
