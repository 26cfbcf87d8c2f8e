"""Checkpoints of one job: their directory, their schedule, and the snapshot from which a new run
continues.

A changed program may resume. Another program whose job happens to have the same name must not: it
would take over foreign state under uids that only look like its own, because uids that follow from
the structure are equal for programs of one shape.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from millrace.common.errors import CheckpointError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.claimed_snapshot import ClaimedSnapshot
from millrace.engine.fence import own_fence, own_fencing_token
from millrace.engine.job_config import JobConfig
from millrace.engine.job_identity import job_id_of
from millrace.engine.job_requests import NO_SAVEPOINT_DIR, SavepointRequest
from millrace.engine.lease import Lease
from millrace.engine.own_savepoints import is_own
from millrace.engine.savepoint_writer import AsyncSavepointWriter
from millrace.engine.sink_coordinator import Pending
from millrace.engine.state_assignment import (
    Parts,
    RestoredSnapshot,
    StateAssignment,
    assign_state,
    chains_of,
    inputs_of,
)
from millrace.engine.state_registry import StateRegistry
from millrace.filesystem.registry import exists, file_system_of, resolved
from millrace.job_graph.job_graph import JobGraph
from millrace.runtime.state_owners import owners_of
from millrace.state.backend.scratch_directory import make_scratch_directory
from millrace.state.checkpoint.directory import COMMITTED, checkpoint_dir, committed_path
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.savepoint import savepoint_path
from millrace.state.checkpoint.snapshot import SAVEPOINT, Snapshot, open_snapshot, snapshot_metadata


@dataclass(frozen=True)
class ResumePoint:
    """Position and state from which a run continues."""

    checkpoint: int | None
    """Number of the job's own checkpoint; None if the snapshot is not one of these."""
    epoch: int
    """First epoch to run."""
    states: StateAssignment
    sources: dict[str, bytes]
    pending: Pending
    finished: bool
    """Whether the job has already ended with this checkpoint of its own."""


class CheckpointCoordinator:
    """Owns the job's directory (under a lease) and writes its checkpoints.

    Without a checkpoint directory, the deltas of a running job go to a temporary directory, which
    is removed at the end and needs no fsync.
    """

    def __init__(self, config: JobConfig, job_name: str, run_id: str) -> None:
        self._config = config
        self.run_id = run_id
        self._job_name = job_name
        self.durable = config.checkpoint_dir is not None
        self._scratch = None if self.durable else make_scratch_directory()
        base = config.checkpoint_dir if self._scratch is None else str(self._scratch.path)
        assert base is not None
        self._base = resolved(base)
        self.job_id = job_id_of(job_name)
        self.job_dir = os.path.join(self._base, self.job_id)
        self._last = 0
        """Cut of the newest checkpoint, in ms since the epoch of Unix."""
        self._saved_epoch = 0
        """First epoch that is not part of the newest checkpoint."""
        self._failures = 0
        self._lease: Lease | None = None
        self._storage: CheckpointStorage | None = None
        self._graph: JobGraph | None = None
        self.manifest: Manifest | None = None
        """Manifest of the newest checkpoint of this run."""
        self._ancestor = ""
        self._claimed: ClaimedSnapshot | None = None
        self._kept: Pin | None = None
        """Pin of the job's own checkpoint that this run must not delete."""
        self.savepoint_ended: Callable[[], None] = lambda: None
        """Called, in any thread, when a savepoint is complete or has failed."""

    @property
    def every_epoch(self) -> bool:
        """Whether each epoch ends with a checkpoint."""
        return self._config.checkpoint_interval == 0

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Ids of the recent runs of this directory's job, this run included."""
        former = self._lease.owner.former if self._lease is not None else ()
        return (*former, self.run_id)

    def open(self, graph: JobGraph, resume: bool) -> ResumePoint | None:
        """Take the lease; returns the position and state from which to continue, or None for a
        fresh start.

        Raises LeaseError when another run holds the job, CheckpointError (or its
        CheckpointCorruptError) when the newest checkpoint does not fit or is damaged.
        """
        self._graph = graph
        fencing = own_fencing_token() if self.durable else None
        fence = own_fence() if self.durable else None
        self._lease = Lease.acquire(self.job_dir, self.run_id, fencing=fencing, fence=fence)
        self._storage = CheckpointStorage(
            self.job_dir,
            self.run_id,
            self._lease,
            durable=self.durable,
            retained=self._config.retained_checkpoints,
        )
        origin = self._origin(self._storage, graph, resume)
        restored = self._restored(origin, graph) if origin is not None else None
        self._saved_epoch = 0 if restored is None else restored.epoch
        return restored

    def assign(self, graph: JobGraph, parts: Parts) -> ResumePoint:
        """Assign the newest checkpoint's state to another graph of the running job. Subtasks may
        already have divided their share in ``parts``.

        Raises CheckpointError if the state does not fit the graph.
        """
        assert self._storage is not None
        with self._storage.pin() as pin:
            origin = RestoredSnapshot(
                pin.manifest, pin.deltas, allow_non_restored=True, committed=True, parts=parts
            )
            restored = self._restored(origin, graph)
        self._graph = graph
        return restored

    def _origin(
        self, storage: CheckpointStorage, graph: JobGraph, resume: bool
    ) -> RestoredSnapshot | None:
        """Snapshot to continue from: the job's own checkpoint if it resumes, else the given
        snapshot."""
        allowed = self._config.allow_non_restored
        if resume and (manifest := self._chosen(storage)) is not None:
            where = checkpoint_dir(self.job_dir, manifest.checkpoint)
            require_same_program(manifest, self._config.program, graph.uid_of.values(), where)
            return RestoredSnapshot(manifest, storage.deltas(manifest), allow_non_restored=allowed)
        if self._config.start_from is None:
            return None
        snapshot = self._opened(self._config.start_from)
        if self._is_own(snapshot.directory):
            manifest = storage.load(snapshot.manifest.checkpoint)
            if not self._config.claim or self._config.keep_claimed:
                self._kept = storage.pin()
            return RestoredSnapshot(manifest, storage.deltas(manifest), allow_non_restored=allowed)
        if self._config.claim:
            keep = self._config.keep_claimed
            self._claimed = ClaimedSnapshot.take(snapshot, self.run_id, keep)
        return RestoredSnapshot(
            snapshot.manifest,
            snapshot.deltas.by_subtask(),
            snapshot.directory,
            forked=self._claimed is None,
            allow_non_restored=allowed,
            committed=exists(f"{snapshot.path}/{COMMITTED}"),
        )

    def _opened(self, path: str) -> Snapshot:
        """Snapshot to start from. It counts as trusted if the job itself has written it, or if
        the user allows pickled values."""
        where = os.path.dirname(snapshot_metadata(path))
        own = self._is_own(os.path.dirname(where)) or is_own(self.job_dir, where)
        trusted = self._config.allow_pickle or own
        snapshot = open_snapshot(path, trusted)
        snapshot.require_trust()
        return snapshot

    def _is_own(self, directory: str) -> bool:
        """Whether ``directory``, or a link to it, is the job's own directory."""
        canonical = file_system_of(self.job_dir).canonical
        return canonical(directory) == canonical(self.job_dir)

    def _chosen(self, storage: CheckpointStorage) -> Manifest | None:
        number = self._config.resume_from
        return storage.load_latest() if number is None else storage.load(number)

    def _restored(self, origin: RestoredSnapshot, graph: JobGraph) -> ResumePoint:
        manifest = origin.manifest
        own = origin.directory is None
        # a savepoint names nothing that sinks have yet to commit; one that does is not believed
        done = origin.forked or origin.committed or manifest.kind == SAVEPOINT
        done = done or (own and exists(committed_path(self.job_dir, manifest.checkpoint)))
        self._ancestor = manifest.snapshot_id if manifest.kind == SAVEPOINT else manifest.ancestor
        return ResumePoint(
            checkpoint=manifest.checkpoint if own else None,
            epoch=manifest.epoch,
            states=assign_state(origin, graph),
            sources=manifest.sources,
            pending={} if done else manifest.pending,
            finished=manifest.finished and own,
        )

    def due(self, now: int) -> bool:
        """Whether the interval has passed since the cut of the last checkpoint."""
        if self._config.batch:
            return False
        return now - self._last >= self._config.checkpoint_interval

    def due_at(self, epoch: int) -> int | None:
        """Time at which the next checkpoint is due, in ms since the epoch of Unix; None if
        everything is saved. The checkpoint is due even if no input comes until then. ``epoch``
        is the next epoch to run."""
        if self._config.batch or epoch == self._saved_epoch:
            return None
        return self._last + self._config.checkpoint_interval

    def publish(
        self,
        *,
        epoch: int,
        states: StateRegistry,
        sources: dict[str, bytes],
        pending: Pending,
        finished: bool,
        now: int,
        cut_at: int | None = None,
    ) -> int:
        """Write a checkpoint and return its number. The checkpoint is complete when this method
        returns.

        Args:
            cut_at: time from which the interval to the next checkpoint counts; ``now`` unless
                given.

        Raises CheckpointError; the previous checkpoint is then still the newest.
        """
        assert self._storage is not None
        assert self._graph is not None
        program = self._graph.program
        uid_of = {stage.id: stage.uid for stage in program.stages}
        self._last = now if cut_at is None else cut_at
        content = Manifest(
            job_id=self.job_id,
            job_name=self._job_name,
            program=self._config.program,
            epoch=epoch,
            timestamp=now,
            max_parallelism=program.max_parallelism,
            stages={stage.uid: stage.parallelism for stage in program.stages},
            operators={node.uid: node.name for stage in program.stages for node in stage.nodes},
            versions={(uid_of[s], i): v for (s, i), v in states.versions().items()},
            sources=sources,
            pending=pending,
            finished=finished,
            ancestor=self._ancestor,
            chains=chains_of(self._graph),
            inputs=inputs_of(self._graph),
            stateful=tuple(sorted(states.stateful)),
        )
        new_deltas = [(uid_of[s], i, delta) for (s, i), delta in states.unsaved()]
        manifest, saved = self._storage.publish(content, new_deltas)
        self.manifest, self._saved_epoch = manifest, epoch
        stage_of = {uid: stage for stage, uid in uid_of.items()}
        # packed files may hold deltas of stages that another graph had
        known = (entry for entry in saved if entry[0] in stage_of)
        states.mark_saved(((stage_of[uid], index), delta) for uid, index, delta in known)
        self._failures = 0
        if self._claimed is not None and self.durable:
            self._claimed.dispose()
            self._claimed = None
        return manifest.checkpoint

    def savepoint_directory(self, request: SavepointRequest) -> str:
        """Directory of a new savepoint, created if it is missing.

        Raises CheckpointError when none is named, or nothing can be written there, and
        UnsupportedFileSystemSchemeError when it belongs to a file system that is not supported.
        """
        directory = request.directory or self._config.savepoint_dir
        if directory is None:
            raise CheckpointError(NO_SAVEPOINT_DIR)
        directory = resolved(directory)
        try:
            files = file_system_of(directory)
            files.make_directory(directory)
            probe = files.begin(f"{directory}/{SAVEPOINT}", durable=False)
            try:
                probe.write(b"?")
                probe.rest()
            finally:
                probe.discard()
        except OSError as error:
            raise CheckpointError(
                f"cannot write a savepoint below {directory}: {error.strerror}"
            ) from error
        except ValueError as error:
            raise CheckpointError(f"{directory!a} cannot be a directory: {error}") from error
        return directory

    def prepare_savepoint(self, request: SavepointRequest) -> AsyncSavepointWriter:
        """Writer, not started yet, of a savepoint of the newest checkpoint.

        Raises CheckpointError if there is no directory for the savepoint.
        """
        assert self._storage is not None
        path = savepoint_path(self.savepoint_directory(request), self.job_id)
        assert self._graph is not None
        program = self._graph.program
        owners = [item for stage in program.stages for item in owners_of(program, stage).items()]
        key_types = {uid: owner.key_type for uid, owner in owners}
        pin = self._storage.pin()
        return AsyncSavepointWriter(
            request, path, self.job_dir, pin, key_types, self._note_savepoint
        )

    def _note_savepoint(self, snapshot_id: str | None) -> None:
        if snapshot_id is not None:
            self._ancestor = snapshot_id
        self.savepoint_ended()

    def note_committed(self, checkpoint: int) -> None:
        """Record that the sinks have committed the pending committables of a checkpoint. From then
        on, readers may move the part files away; without this note, a resumed job would look for
        them.
        """
        assert self._storage is not None
        self._storage.note_committed(checkpoint)

    @property
    def is_failing(self) -> bool:
        """Whether the last checkpoint failed."""
        return self._failures > 0

    def failed_too_often(self) -> bool:
        """Count a failed checkpoint; returns whether the consecutive failures exceed the
        tolerable number."""
        self._failures += 1
        return self._failures > self._config.tolerable_failed_checkpoints

    @contextlib.contextmanager
    def _unguarded(self) -> Iterator[None]:
        yield

    def guard(self) -> AbstractContextManager[None]:
        """Context to hold while committing. Raises LeaseLostError if another run has taken over."""
        return self._lease.guard() if self._lease is not None else self._unguarded()

    def discard(self) -> None:
        """Delete the checkpoints of this job. Savepoints stay, also a claimed one while it is
        needed. Checkpoints of a history that this run did not continue stay, too."""
        if self._storage is not None and self.durable:
            self._storage.discard()

    def close(self) -> None:
        """Release the lease; remove a temporary directory."""
        if self._storage is not None:
            self._storage.close()
        if self._claimed is not None:
            self._claimed.release()
        if self._lease is not None:
            self._lease.release()
        if self._scratch is not None:
            self._scratch.remove()


_STRUCTURAL = re.compile(r"[0-9a-f]{16}(-feedback)?")
"""Form of uids that the user has not chosen (see `millrace.job_graph.uids`)."""


def require_same_program(manifest: Manifest, program: str, uids: Iterable[str], path: str) -> None:
    """Raise an error if the checkpoint belongs to another program.

    Two programs are the same if their files have the same name, in any directory, or if both have a
    uid that a user has given.

    Args:
        program: the file of the running program; empty for an interactive session.
        uids: the uids of the running job's operators.
        path: the path of the checkpoint.

    Raises:
        CheckpointError: the checkpoint belongs to another program; the message names both.
    """
    if _file_name(manifest.program) == _file_name(program):
        return
    given = {uid for uid in uids if not _STRUCTURAL.fullmatch(uid)}
    if given & manifest.operators.keys():
        return
    raise CheckpointError(
        f"checkpoint {manifest.checkpoint} of job '{manifest.job_name}' was made by another "
        f"program: {_called(manifest.program)}, with the operators "
        f"{', '.join(manifest.operators.values())}. This is {_called(program)}. Give the job a "
        "name of its own (--name, or in execute()); if it is the same program under another name, "
        f"start it from the checkpoint: millrace run -s {path}"
    )


def _file_name(program: str) -> str:
    directory, name = os.path.split(program)
    return os.path.basename(directory) if name == "__main__.py" else name


def _called(program: str) -> str:
    return program or "an interactive session"
