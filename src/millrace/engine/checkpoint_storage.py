"""Writes, finds and reads the checkpoints of one job, and deletes old ones."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from millrace.common.errors import CheckpointCorruptError, CheckpointError, LeaseLostError
from millrace.engine.lease import Lease
from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.delta_file import (
    SUFFIX,
    DeltaEntry,
    DeltaFile,
    SubtaskKey,
    write_delta_file,
)
from millrace.state.checkpoint.delta_set import DeltaSet, check_segments, raised, read_delta_set
from millrace.state.checkpoint.directory import (
    SHARED,
    checkpoint_dir,
    checkpoint_numbers,
    committed_path,
    complete_checkpoints,
    is_complete,
    metadata_path,
    remove_checkpoint,
)
from millrace.state.checkpoint.files import (
    StrPath,
    delete_quietly,
    reason_of,
    write_file,
)
from millrace.state.checkpoint.manifest import Manifest, read_manifest
from millrace.state.checkpoint.packer import Packer
from millrace.state.checkpoint.packing import PackedFile
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.retention import ORPHAN_AGE, HeldCheckpoint, Retention
from millrace.state.checkpoint.segment_ledger import SegmentLedger
from millrace.state.state_delta import FileRef, StateDelta

__all__ = ["CheckpointStorage"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _CheckpointDraft:
    """The deltas of a checkpoint that is being written."""

    deltas: DeltaSet
    arrived: list[DeltaEntry]
    """New deltas as they were received, dead deltas included."""
    new: DeltaFile | None
    packed: list[PackedFile]

    def moved(self) -> list[DeltaEntry]:
        """Deltas whose bytes are in another file than before."""
        files = [packed.file for packed in self.packed] + ([self.new] if self.new else [])
        return [entry for file in files for entry in file.entries]

    def added(self) -> int:
        """Bytes added by this checkpoint: the new file and the segments to which it refers."""
        if self.new is None:
            return 0
        segments = sum(e[2].size() for e in self.arrived if isinstance(e[2].data, FileRef))
        return self.new.ref.length + segments


class CheckpointStorage:
    """Checkpoints of one job, written by the run that holds its lease.

    Args:
        job_dir: ``<checkpoint directory>/<job id>``; made if it is missing.
        run_id: becomes part of the names of files, so that those of two runs never collide.
        lease: every checkpoint is published under its guard.
        durable: whether to flush files to the disk; a temporary job does not need this.
        retained: how many complete checkpoints to keep (Flink: ``state.checkpoints.num-retained``).
        job_id: the job that the checkpoints must be of; the directory's name unless given.
        orphan_age: seconds after which a file is deleted to which no checkpoint refers.
        clock: function that returns seconds since the epoch of Unix, for the age of files.

    Not for several threads at once. Packing of delta files goes on in a thread of its own.

    Example:
        >>> import tempfile
        >>> job_dir = tempfile.mkdtemp() + "/count"
        >>> lease = Lease.acquire(job_dir, "run-1")
        >>> storage = CheckpointStorage(job_dir, "run-1", lease)
        >>> content = Manifest(
        ...     job_name="count", epoch=1, timestamp=0, max_parallelism=128, stages={"s": 1},
        ...     operators={"s": "count"}, versions={("s", 0): "run-1-1"}, sources={}, pending={},
        ... )
        >>> delta = StateDelta(1, "run-1-1", 1, b"state")
        >>> manifest, saved = storage.publish(content, [("s", 0, delta)])
        >>> storage.load_latest() == manifest
        True
        >>> storage.close(); lease.release()
    """

    def __init__(
        self,
        job_dir: StrPath,
        run_id: str,
        lease: Lease,
        durable: bool = True,
        retained: int = 2,
        *,
        job_id: str | None = None,
        orphan_age: float = ORPHAN_AGE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._job_dir = os.fspath(job_dir)
        self._files = file_system_of(job_dir)
        self._run_id = run_id
        self._lease = lease
        self._durable = durable
        self._job_id = job_id or os.path.basename(self._job_dir)
        self._base: Manifest | None = None
        self._deltas = DeltaSet()
        self._segments = SegmentLedger()
        self._packer = Packer(job_dir, run_id, durable)
        self._retention = Retention(job_dir, retained, orphan_age, clock)
        self._surveyed = False
        self._noted: str | None = None
        self._shared = os.path.join(self._job_dir, SHARED)
        self._files.make_directory(self._shared, durable)
        self._newest = self._first_number() - 1

    # -- writing -----------------------------------------------------------------------------

    def next_number(self) -> int:
        """Checkpoint number greater than all existing ones, complete or not."""
        return self._newest + 1

    def _first_number(self) -> int:
        """First checkpoint number of this run. In file systems without locks, a former run may
        still write: an empty ``_metadata`` then takes the number that the former run would use
        next. If the former run was faster, this run tries the next number."""
        number = max(checkpoint_numbers(self._job_dir), default=0) + 1
        if self._lease.has_predecessor and not self._files.has_locks:
            while self._files.write_if(metadata_path(self._job_dir, number), b"", None) is None:
                number += 1
            number += 1
        return number

    def publish(
        self, content: Manifest, new_deltas: Iterable[DeltaEntry]
    ) -> tuple[Manifest, list[DeltaEntry]]:
        """Write a checkpoint on top of the previous one. The checkpoint is complete when this
        method returns.

        Args:
            content: the manifest's details of the job. The numbers of the checkpoint and its run,
                and the places of its deltas, are filled in here.
            new_deltas: the deltas that have come since the checkpoint before.

        Returns:
            The manifest, and every delta whose bytes have moved: the new deltas, and those of
            packed files. Use the returned deltas from now on, because their former files will be
            deleted.

        Raises:
            CheckpointError: the file system refused. The checkpoint before is still the newest,
                and publishing can be tried again with the same deltas.
            LeaseLostError: another run has taken over.
        """
        number = self.next_number()
        new = self._new_file(number)
        try:
            draft = self._write_deltas(new, content.stages, list(new_deltas))
            manifest = replace(
                content,
                job_id=content.job_id or self._job_id,
                run_id=self._run_id,
                checkpoint=number,
                parent=self._base.checkpoint if self._base else None,
                delta_files=tuple(file.ref for file in draft.deltas.files.values()),
                snapshot_id=f"{self._run_id}-{number}",
            )
            self._complete(manifest, draft)
        except BaseException as error:
            self._take_back(number, new)
            if isinstance(error, OSError):
                raise CheckpointError(
                    f"cannot write checkpoint {number} in {self._job_dir}: {reason_of(error)}"
                ) from error
            raise
        return manifest, draft.moved()

    def _new_file(self, number: int) -> str:
        return f"{self._run_id}-{number}{SUFFIX}"

    def _write_deltas(
        self, name: str, stages: dict[str, int], new: list[DeltaEntry]
    ) -> _CheckpointDraft:
        deltas = self._deltas.for_stages(stages)
        packed = self._packer.ready()
        for one in packed:
            deltas = one.applied_to(deltas)
        new = [entry for entry in new if not deltas.has(entry)]
        low_epochs = raised(deltas.low_epochs, new)
        live = [entry for entry in new if entry[2].epoch >= low_epochs[entry[:2]]]
        if not live:
            return _CheckpointDraft(deltas, new, None, packed)
        # flushed together with the manifest, for that is the same wait
        file = write_delta_file(self._job_dir, name, live, durable=False)
        crash_point("after-deltas")
        return _CheckpointDraft(deltas.with_file(file), new, file, packed)

    def _complete(self, manifest: Manifest, draft: _CheckpointDraft) -> None:
        misfit = draft.deltas.misfit(manifest.versions)
        if misfit is not None:
            raise CheckpointError(
                f"checkpoint {manifest.checkpoint} could not be restored: {misfit}"
            )
        with self._lease.guard():
            self._write_metadata(manifest, draft.new)
            self._accept(manifest, draft)
            self._clean_up(manifest.checkpoint)
        self._packer.offer(self._deltas, draft.added())

    def _write_metadata(self, manifest: Manifest, deltas: DeltaFile | None) -> None:
        if not self._surveyed:
            self._survey()
        number = manifest.checkpoint
        self._files.make_directory(checkpoint_dir(self._job_dir, number), durable=False)
        shared = [f"{self._job_dir}/{deltas.ref.path}", self._shared] if deltas else []
        path, data = metadata_path(self._job_dir, number), manifest.encode()
        try:
            write_file(
                path,
                (data,),
                durable=self._durable,
                flush_too=[self._job_dir, *shared, *self._unflushed_notes()],
                exclusive=True,
                before_complete=lambda: crash_point("during-metadata"),
            )
            crash_point("after-metadata")
        except FileExistsError:
            # a store that was asked again, since its answer was lost, finds what we have written
            if self._files.read(path) != data:
                raise LeaseLostError(
                    f"checkpoint {number} of {self._job_dir} was written by another run; "
                    "this run must not go on"
                ) from None
        except BaseException:
            # only here it is certain that the directory is ours and not another owner's
            gone = remove_checkpoint(self._job_dir, number)
            self._newest = number - 1 if gone else number
            raise
        self._noted = None
        self._newest = number

    def note_committed(self, number: int) -> None:
        """Record that the sinks have committed the pending committables of a checkpoint.

        The note is flushed to the disk with the next checkpoint, or by `close`. If the machine
        loses power before, a resumed job makes the commits again.
        """
        if self._durable:
            with contextlib.suppress(CheckpointError):
                write_file(committed_path(self._job_dir, number), (), durable=False)
                self._noted = checkpoint_dir(self._job_dir, number)

    def _unflushed_notes(self) -> list[str]:
        noted = self._noted if self._files.has_directories else None
        return [noted] if noted is not None and self._files.is_directory(noted) else []

    def _accept(self, manifest: Manifest, draft: _CheckpointDraft) -> None:
        """Make the checkpoint the base of the next one."""
        gone = [path for path in self._deltas.files if path not in draft.deltas.files]
        self._packer.taken(draft.packed)
        self._segments.add(draft.arrived)
        for packed in draft.packed:
            if packed.file.ref.path not in draft.deltas.files:
                gone.append(packed.file.ref.path)
            gone += self._segments.remove(packed.segments)
        gone += self._segments.expire(draft.deltas.low_epochs)
        self._retention.condemn(gone, manifest.checkpoint)
        self._base, self._deltas = manifest, draft.deltas

    def _clean_up(self, number: int) -> None:
        try:
            self._retention.published(number, self._in_use)
        except OSError as error:
            log.warning("deleting old checkpoints in %s failed: %s", self._job_dir, error)

    def _take_back(self, number: int, new: str) -> None:
        """Delete the delta file of a checkpoint that failed. If the checkpoint is complete in
        spite of the error, the file stays."""
        with contextlib.suppress(OSError):
            if not is_complete(self._job_dir, number):
                delete_quietly(f"{self._shared}/{new}")

    def _in_use(self) -> set[str]:
        return {*self._deltas.files, *self._segments, *self._packer.working_files()}

    def _survey(self) -> None:
        """Find the checkpoints of earlier runs and the files to which they refer, so that
        checkpoints and files can be deleted together."""
        usable: list[HeldCheckpoint] = []
        damaged: list[int] = []
        parents: dict[int, int | None] = {}
        for number in complete_checkpoints(self._job_dir):
            try:
                manifest = read_manifest(self._job_dir, number)
                deltas = read_delta_set(self._job_dir, manifest)
            except CheckpointError:
                damaged.append(number)
                continue
            parents[number] = manifest.parent
            usable.append(HeldCheckpoint(number, _paths(deltas)))
        starts_afresh = self._base is None and bool(usable)
        keep = usable[-1] if starts_afresh else None
        history = _history(self._base.checkpoint, parents) if self._base else set(parents)
        self._retention.begin(history, damaged, keep, parents.keys() - history)
        last_use = {path: one.number for one in usable for path in one.paths}
        in_use = self._in_use()
        for path, number in last_use.items():
            if path not in in_use:
                self._retention.condemn([path], number + 1)
        self._surveyed = True

    # -- reading -----------------------------------------------------------------------------

    def load_latest(self) -> Manifest | None:
        """Newest complete checkpoint, which becomes the base of the next one; None if there is
        none.

        Raises:
            CheckpointCorruptError: it is damaged; names the file and which earlier checkpoint
                could be used instead. That one is used only on request (`load`), because all
                later work would be lost or done again.
            CheckpointError: it belongs to another job.
        """
        numbers = complete_checkpoints(self._job_dir)
        return self.load(numbers[-1]) if numbers else None

    def load(self, number: int) -> Manifest:
        """The checkpoint ``number``, which becomes the base of the next one.

        Raises:
            CheckpointCorruptError: it is damaged.
            CheckpointError: it does not exist, or is another job's.
        """
        numbers = complete_checkpoints(self._job_dir)
        if number not in numbers:
            present = ", ".join(map(str, numbers)) or "none"
            raise CheckpointError(
                f"{self._job_dir} has no complete checkpoint {number}; there are: {present}"
            )
        try:
            manifest, deltas = self._read(number)
        except CheckpointCorruptError as error:
            advice = self._advice([n for n in numbers if n < number])
            raise CheckpointCorruptError(error.path, f"{error.reason}; {advice}") from error
        self._go_on_from(manifest, deltas)
        return manifest

    def deltas(self, manifest: Manifest) -> dict[SubtaskKey, list[StateDelta]]:
        """Live deltas of every subtask that has any, in epoch order.

        Raises:
            CheckpointCorruptError: a delta file is damaged.
        """
        if manifest is self._base:
            return self._deltas.by_subtask()
        return read_delta_set(self._job_dir, manifest).by_subtask()

    def pin(self) -> Pin:
        """Pin of the newest checkpoint: its files stay until the pin is released, even after later
        checkpoints.

        Raises:
            CheckpointError: there is no checkpoint yet.
        """
        if self._base is None:
            raise CheckpointError(f"there is no checkpoint in {self._job_dir} yet")
        held = HeldCheckpoint(self._base.checkpoint, {*self._deltas.files, *self._segments})
        self._retention.hold(held)
        return Pin(self._base, self._deltas.by_subtask(), lambda: self._retention.let_go(held))

    def discard(self) -> None:
        """Delete the checkpoints of the history that this run belongs to.

        Files that cannot be deleted stay. If another run has taken over, all files stay.
        """
        self._packer.discard()
        if self._base is None:
            return
        try:
            with self._lease.guard():
                if not self._surveyed:
                    self._survey()
                self._retention.discard()
        except (OSError, LeaseLostError) as error:
            log.warning("the checkpoints in %s were not all deleted: %s", self._job_dir, error)
        self._go_on_from_nothing()

    def close(self) -> None:
        """Stop packing. The checkpoints stay."""
        self._packer.discard()
        with contextlib.suppress(OSError):
            self._files.sync(self._unflushed_notes())

    def _read(self, number: int) -> tuple[Manifest, DeltaSet]:
        manifest = read_manifest(self._job_dir, number)
        if manifest.job_id != self._job_id:
            raise CheckpointError(
                f"the directory {self._job_dir} belongs to job '{manifest.job_name}' "
                f"({manifest.job_id}), not to {self._job_id}; use another checkpoint directory"
            )
        deltas = read_delta_set(self._job_dir, manifest)
        check_segments(self._job_dir, deltas.live())
        return manifest, deltas

    def _advice(self, earlier: list[int]) -> str:
        for number in reversed(earlier):
            try:
                self._read(number)
            except CheckpointError:
                continue
            return (
                f"checkpoint {number} before it is whole and can be used instead: resume with "
                f"--conf millrace.checkpoint.resume-from={number}"
            )
        return "there is no earlier checkpoint that could be used instead"

    def _go_on_from_nothing(self) -> None:
        self._base, self._deltas = None, DeltaSet()
        self._segments = SegmentLedger()
        self._surveyed = False

    def _go_on_from(self, manifest: Manifest, deltas: DeltaSet) -> None:
        self._packer.discard()
        self._go_on_from_nothing()
        self._base, self._deltas = manifest, deltas
        self._segments.add(deltas.live())


def _history(number: int, parents: dict[int, int | None]) -> set[int]:
    """Numbers of a checkpoint and of the checkpoints on which it was built. If one of these
    cannot be read, all older ones are included, because their relation is unknown."""
    history: set[int] = set()
    before: int | None = number
    while before is not None and before in parents and before not in history:
        history.add(before)
        before = parents[before]
    return history if before is None else history | {n for n in parents if n < before}


def _paths(deltas: DeltaSet) -> set[str]:
    """Paths of all files to which the live deltas refer."""
    ledger = SegmentLedger()
    ledger.add(deltas.live())
    return {*deltas.files, *ledger}
