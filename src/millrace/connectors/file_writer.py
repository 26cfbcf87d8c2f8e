"""The writer of the file sink: writes records to the part file of their bucket, and finishes
part files as the rolling policy requires."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink.writer import SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, RowBatch
from millrace.connectors.bucket_assigner import BucketAssigner, require_bucket_id
from millrace.connectors.errors import PartFileError
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.part_file import (
    FileWriterState,
    OpenPart,
    PartNames,
    require_work_files,
)
from millrace.connectors.part_writer import PartFormat, PartWriter
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.filesystem.registry import file_system_of

__all__ = ["FileSinkSettings", "FileWriter"]


@dataclass(frozen=True, slots=True)
class FileSinkSettings:
    """The settings of a file sink."""

    base_path: str
    part_format: PartFormat
    bucket_assigner: BucketAssigner[Any]
    rolling_policy: RollingPolicy
    output_file_config: OutputFileConfig

    @property
    def takes(self) -> BatchForm:
        """Form of batches that the sink takes: that of the bucket assigner or, if this accepts both
        forms, that of the format.
        """
        wanted = self.bucket_assigner.takes
        return self.part_format.takes if wanted is BatchForm.EITHER else wanted


class FileWriter(SinkWriter[Any]):
    """Writes the records of one subtask. It persists open parts at the end of an epoch, and
    continues them in the next epoch as if they were restored."""

    def __init__(
        self, settings: FileSinkSettings, context: WriterContext, state: FileWriterState | None
    ) -> None:
        self._settings = settings
        self._files = file_system_of(settings.base_path)
        self._context = context
        self._next_counter = state.next_counter if state else 0
        self._parts: dict[str, PartWriter] = {}
        """The part of each bucket that records are added to."""
        self._extra_parts: list[tuple[str, PartWriter]] = []
        """Second parts of a bucket, from other subtasks after rescaling; finished at once."""
        self._open_parts = list(state.parts) if state else []
        """Persisted parts, which wait for the next epoch."""
        self._validate(self._open_parts)
        self._prepared = True

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        context = self._context
        self._names = PartNames(
            self._settings.output_file_config,
            context.run_id,
            context.subtask_index,
            epoch.attempt,
        )
        self._parts, self._extra_parts = {}, []
        for part in self._open_parts:
            if part.bucket in self._parts:
                self._extra_parts.append((part.bucket, self._part_writer(part)))
            else:
                self._parts[part.bucket] = self._part_writer(part)
        self._open_parts = []
        self._committables: list[Any] = []
        self._directories: set[str] = set()
        self._work_files: list[str] = []
        self._uploads: list[str] = []
        self._prepared = False

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        for part in self._parts.values():
            part.note_checkpoint()

    def write(self, batch: RowBatch[Any]) -> None:
        self._write(batch)

    def write_columns(self, batch: ColumnBatch) -> None:
        self._write(batch)

    def _write(self, batch: Batch) -> None:
        if not len(batch):
            return
        settings, now = self._settings, self._context.current_time()
        groups = settings.bucket_assigner.group(batch, now)
        for bucket, group in groups.items():
            part = self._parts.get(bucket) or self._open_part(bucket, now)
            part.write(group, now)
            if settings.rolling_policy.should_roll_on_size(part.info):
                self._roll(bucket)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        for bucket, part in self._extra_parts:
            self._committables.append(part.close_for_commit())
            self._note_files(bucket, part)
        now = self._context.current_time()
        for bucket in list(self._parts):
            if end_of_input or self._is_due(self._parts[bucket], now):
                self._roll(bucket)
            else:
                self._persist(bucket)
        # one sync for all files: each would wait for the disk
        self._files.sync([*self._work_files, *self._uploads, *sorted(self._directories)])
        self._prepared = True
        return self._committables

    def snapshot_state(self) -> FileWriterState:
        return FileWriterState(self._next_counter, tuple(self._open_parts))

    def next_wakeup(self) -> int | None:
        policy = self._settings.rolling_policy
        infos = [self._part_writer(part).info for part in self._open_parts]
        times = [policy.roll_time(info) for info in infos]
        return min((time for time in times if time is not None), default=None)

    def close(self) -> None:
        if not self._prepared:
            for part in [*self._parts.values(), *(part for _, part in self._extra_parts)]:
                part.discard()
                self._work_files += part.work_files
                self._uploads += part.uploads
            self._delete_quietly()

    def _delete_quietly(self) -> None:
        """Delete the files of this epoch; the sweeper later deletes any that remain."""
        with contextlib.suppress(OSError):
            self._files.delete_all(self._work_files)
        for token in self._uploads:
            with contextlib.suppress(OSError):
                self._files.abort(token)

    def _validate(self, parts: Sequence[OpenPart]) -> None:
        """Refuse restored parts with files outside the sink's directory. A snapshot may have
        been tampered with, and the files of parts are moved and deleted."""
        for part in parts:
            require_bucket_id(part.bucket)
            if type(part.subtask) is not int or type(part.counter) is not int:
                raise PartFileError(part.bucket, "the numbers in its restored state are invalid")
        paths = (chunk.path for part in parts for chunk in part.chunks)
        require_work_files(paths, self._settings.base_path)

    def _open_part(self, bucket: str, now: int) -> PartWriter:
        directory = self._directory(require_bucket_id(bucket))
        self._files.make_directory(directory, private=False)
        subtask, counter = self._names.subtask, self._next_counter
        part = OpenPart(bucket, subtask, counter, (), now, now)
        self._next_counter += 1
        return self._parts.setdefault(bucket, self._part_writer(part))

    def _is_due(self, part: PartWriter, now: int) -> bool:
        policy, info = self._settings.rolling_policy, part.info
        roll_time = policy.roll_time(info)
        by_time = roll_time is not None and roll_time <= now
        return by_time or policy.should_roll_on_checkpoint(info)

    def _roll(self, bucket: str) -> None:
        part = self._parts[bucket]
        self._committables.append(part.close_for_commit())
        self._remove(bucket, part)

    def _persist(self, bucket: str) -> None:
        part = self._parts[bucket]
        open_part, obsolete = part.persist()
        self._open_parts.append(open_part)
        if obsolete is not None:
            self._committables.append(obsolete)
        self._remove(bucket, part)

    def _remove(self, bucket: str, part: PartWriter) -> None:
        del self._parts[bucket]
        self._note_files(bucket, part)

    def _note_files(self, bucket: str, part: PartWriter) -> None:
        self._work_files += part.work_files
        self._uploads += part.uploads
        if part.work_files or part.uploads:
            self._directories.add(self._directory(bucket))

    def _part_writer(self, part: OpenPart) -> PartWriter:
        settings = self._settings
        return PartWriter(
            self._directory(part.bucket),
            self._names,
            part,
            settings.part_format,
            settings.rolling_policy.ends_with_epoch,
        )

    def _directory(self, bucket: str) -> str:
        base_path = self._settings.base_path
        return os.path.join(base_path, bucket) if bucket else base_path
