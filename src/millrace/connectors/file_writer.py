"""The file sink's writer: sorts records into parts, and decides which of them are finished."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink.sink import SinkWriter, WriterContext
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
    """What a file sink was built with."""

    base_path: str
    part_format: PartFormat
    bucket_assigner: BucketAssigner[Any]
    rolling_policy: RollingPolicy
    output_file_config: OutputFileConfig

    @property
    def takes(self) -> BatchForm:
        """The form that the assigner of buckets wants; if it takes either, that of the format."""
        wanted = self.bucket_assigner.takes
        return self.part_format.takes if wanted is BatchForm.EITHER else wanted


class FileWriter(SinkWriter[Any]):
    """Writes one subtask's records of one epoch."""

    def __init__(
        self, settings: FileSinkSettings, context: WriterContext, state: FileWriterState | None
    ) -> None:
        self._settings = settings
        self._files = file_system_of(settings.base_path)
        self._now = context.now
        self._names = PartNames(
            settings.output_file_config, context.run_id, context.subtask_index, context.attempt
        )
        self._next_counter = state.next_counter if state else 0
        self._parts: dict[str, PartWriter] = {}
        self._surplus: list[tuple[str, PartWriter]] = []
        """Open parts of other subtasks, beside one of the same bucket."""
        parts = state.parts if state else ()
        self._check(parts)
        for part in parts:
            if part.bucket in self._parts:
                self._surplus.append((part.bucket, self._part_writer(part)))
            else:
                self._parts[part.bucket] = self._part_writer(part)
        self._open_parts: list[OpenPart] = []
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
        settings = self._settings
        groups = settings.bucket_assigner.group(batch, self._now)
        for bucket, group in groups.items():
            part = self._parts.get(bucket) or self._begin(bucket)
            part.write(group, settings.part_format, self._now)
            if settings.rolling_policy.should_roll_on_size(part.info):
                self._roll(bucket)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        for bucket, part in self._surplus:
            self._committables.append(part.close_for_good())
            self._note(bucket, part)
        for bucket in list(self._parts):
            if end_of_input or self._is_due(self._parts[bucket]):
                self._roll(bucket)
            else:
                self._keep(bucket)
        # one wait for the disk serves them all
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
            for part in [*self._parts.values(), *(part for _, part in self._surplus)]:
                part.discard()
                self._work_files += part.work_files
                self._uploads += part.uploads
            self._delete_quietly()

    def _delete_quietly(self) -> None:
        """What cannot be deleted is left to the sweep."""
        with contextlib.suppress(OSError):
            self._files.delete_all(self._work_files)
        for token in self._uploads:
            with contextlib.suppress(OSError):
                self._files.abort(token)

    def _check(self, parts: Sequence[OpenPart]) -> None:
        """What was restored may be somebody's attack."""
        for part in parts:
            require_bucket_id(part.bucket)
            if type(part.subtask) is not int or type(part.counter) is not int:
                raise PartFileError(part.bucket, "its restored state has no proper numbers")
        paths = (chunk.path for part in parts for chunk in part.chunks)
        require_work_files(paths, self._settings.base_path)

    def _begin(self, bucket: str) -> PartWriter:
        directory = self._directory(require_bucket_id(bucket))
        self._files.make_directory(directory, private=False)
        subtask, counter = self._names.subtask, self._next_counter
        part = OpenPart(bucket, subtask, counter, (), self._now, self._now)
        self._next_counter += 1
        return self._parts.setdefault(bucket, self._part_writer(part))

    def _is_due(self, part: PartWriter) -> bool:
        policy, info = self._settings.rolling_policy, part.info
        roll_time = policy.roll_time(info)
        by_time = roll_time is not None and roll_time <= self._now
        return by_time or policy.should_roll_on_checkpoint(info)

    def _roll(self, bucket: str) -> None:
        part = self._parts[bucket]
        self._committables.append(part.close_for_good())
        self._forget(bucket, part)

    def _keep(self, bucket: str) -> None:
        part = self._parts[bucket]
        open_part, obsolete = part.close_for_epoch()
        self._open_parts.append(open_part)
        if obsolete is not None:
            self._committables.append(obsolete)
        self._forget(bucket, part)

    def _forget(self, bucket: str, part: PartWriter) -> None:
        del self._parts[bucket]
        self._note(bucket, part)

    def _note(self, bucket: str, part: PartWriter) -> None:
        self._work_files += part.work_files
        self._uploads += part.uploads
        if part.work_files or part.uploads:
            self._directories.add(self._directory(bucket))

    def _part_writer(self, part: OpenPart) -> PartWriter:
        ends_with_epoch = self._settings.rolling_policy.ends_with_epoch
        return PartWriter(self._directory(part.bucket), self._names, part, ends_with_epoch)

    def _directory(self, bucket: str) -> str:
        base_path = self._settings.base_path
        return os.path.join(base_path, bucket) if bucket else base_path
