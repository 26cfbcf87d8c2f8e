"""Checkpoints of one job: where they are, when they are due, and what a new run goes on from."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import CheckpointError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.job_config import JobConfig
from millrace.engine.job_identity import job_id_of
from millrace.engine.lease import Lease
from millrace.engine.sink_coordinator import Pending
from millrace.engine.state_registry import StateRegistry, SubtaskId
from millrace.plan.job_graph import JobGraph
from millrace.state.checkpoint.directory import committed_path
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.layer import Layer


@dataclass(frozen=True)
class Restored:
    """What a run goes on from."""

    checkpoint: int
    epoch: int
    """The first epoch to run."""
    states: dict[SubtaskId, tuple[str, list[Layer]]]
    sources: dict[str, bytes]
    pending: Pending
    finished: bool
    feedback: bytes


class CheckpointCoordinator:
    """Owns the job's directory (under a lease) and writes its checkpoints.

    Without a checkpoint directory the layers of a running job go to a temporary one, which is
    removed at the end and is not worth an fsync.
    """

    def __init__(self, config: JobConfig, job_name: str, run_id: str) -> None:
        self._config = config
        self._run_id = run_id
        self._job_name = job_name
        self.durable = config.checkpoint_dir is not None
        self._base = config.checkpoint_dir or tempfile.mkdtemp(prefix="millrace-")
        self.job_id = job_id_of(job_name)
        self.job_dir = str(Path(self._base) / self.job_id)
        self._last = 0
        self._failures = 0
        self._lease: Lease | None = None
        self._storage: CheckpointStorage | None = None
        self._graph: JobGraph | None = None
        self.manifest: Manifest | None = None
        """Of the newest checkpoint of this run."""

    @property
    def every_epoch(self) -> bool:
        """Whether each epoch ends with a checkpoint."""
        return self._config.checkpoint_interval == 0

    def open(self, graph: JobGraph, resume: bool) -> Restored | None:
        """Take the lease; returns what to go on from when resuming, if there is anything.

        Raises LeaseError when another run holds the job, CheckpointError (or its
        CheckpointCorruptError) when the newest checkpoint does not fit or is damaged.
        """
        self._graph = graph
        Path(self.job_dir).mkdir(parents=True, exist_ok=True)
        self._lease = Lease.acquire(self.job_dir, self._run_id)
        self._storage = CheckpointStorage(
            self.job_dir,
            self._run_id,
            self._lease,
            durable=self.durable,
            retained=self._config.retained_checkpoints,
        )
        manifest = self._chosen(self._storage) if resume else None
        return self._restored(manifest, self._storage) if manifest else None

    def _chosen(self, storage: CheckpointStorage) -> Manifest | None:
        number = self._config.resume_from
        return storage.load_latest() if number is None else storage.load(number)

    def _restored(self, manifest: Manifest, storage: CheckpointStorage) -> Restored:
        assert self._graph is not None
        stages = {stage.uid: stage for stage in self._graph.program.stages}
        _check_fits(manifest, self._graph)
        layers = storage.layers(manifest)
        states = {
            (stages[uid].id, index): (version, layers.get((uid, index), []))
            for (uid, index), version in manifest.versions.items()
        }
        return Restored(
            checkpoint=manifest.checkpoint,
            epoch=manifest.epoch,
            states=states,
            sources=manifest.sources,
            pending=self._left_to_commit(manifest),
            finished=manifest.finished,
            feedback=manifest.feedback,
        )

    def _left_to_commit(self, manifest: Manifest) -> Pending:
        committed = committed_path(self.job_dir, manifest.checkpoint).exists()
        return {} if committed else manifest.pending

    def due(self, now: int) -> bool:
        """Whether the interval has passed since the last checkpoint."""
        if self._config.batch:
            return False
        return now - self._last >= self._config.checkpoint_interval

    def publish(
        self,
        *,
        epoch: int,
        states: StateRegistry,
        sources: dict[str, bytes],
        pending: Pending,
        finished: bool,
        feedback: bytes,
        now: int,
    ) -> int:
        """Write a checkpoint and return its number; it counts once this returns.

        Raises CheckpointError; the checkpoint before is then still the newest.
        """
        assert self._storage is not None
        assert self._graph is not None
        program = self._graph.program
        uid_of = {stage.id: stage.uid for stage in program.stages}
        self._last = now
        manifest, saved = self._storage.publish(
            job_id=self.job_id,
            job_name=self._job_name,
            epoch=epoch,
            timestamp=now,
            max_parallelism=program.max_parallelism,
            stages={stage.uid: stage.parallelism for stage in program.stages},
            operators={node.uid: node.name for stage in program.stages for node in stage.nodes},
            versions={(uid_of[s], i): v for (s, i), v in states.versions().items()},
            sources=sources,
            pending=pending,
            finished=finished,
            feedback=feedback,
            new_layers=[(uid_of[s], i, layer) for (s, i), layer in states.unsaved()],
        )
        self.manifest = manifest
        stage_of = {uid: stage for stage, uid in uid_of.items()}
        states.saved(((stage_of[uid], index), layer) for uid, index, layer in saved)
        self._failures = 0
        return manifest.checkpoint

    def note_committed(self, checkpoint: int) -> None:
        """The sinks have committed what a checkpoint names as pending. From then on its parts are
        the readers', who may move them away; without this note a resumed job would look for them.
        """
        if self.durable:
            with contextlib.suppress(OSError):  # it is only a note: committing twice is harmless
                committed_path(self.job_dir, checkpoint).touch()

    def failed_too_often(self) -> bool:
        """Count a failed checkpoint; whether more failed in a row than are tolerable."""
        self._failures += 1
        return self._failures > self._config.tolerable_failed_checkpoints

    @contextlib.contextmanager
    def _unguarded(self) -> Iterator[None]:
        yield

    def guard(self) -> AbstractContextManager[None]:
        """Hold this while committing: raises LeaseLostError when another run took over."""
        return self._lease.guard() if self._lease is not None else self._unguarded()

    def close(self) -> None:
        """Give the lease back; remove a temporary directory."""
        if self._storage is not None:
            self._storage.close()
        if self._lease is not None:
            self._lease.release()
        if not self.durable:
            shutil.rmtree(self._base, ignore_errors=True)


def _check_fits(manifest: Manifest, graph: JobGraph) -> None:
    """Raises CheckpointError unless the job can take over the checkpoint's state."""
    program = graph.program
    if manifest.max_parallelism != program.max_parallelism:
        raise CheckpointError(
            f"checkpoint {manifest.checkpoint} was made with max parallelism "
            f"{manifest.max_parallelism}, the job has {program.max_parallelism}; "
            f"set pipeline.max-parallelism to {manifest.max_parallelism}"
        )
    stages = {stage.uid: stage for stage in program.stages}
    known = {node.uid for stage in program.stages for node in stage.nodes}
    gone = [uid for uid in manifest.stages if uid not in stages]
    for uid in gone + [uid for uid in manifest.pending if uid not in known]:
        name = manifest.operators.get(uid, uid)
        raise CheckpointError(
            f"checkpoint {manifest.checkpoint} has state of operator '{name}' (uid {uid}), "
            "which the job does not have; it belongs to another job or an older version of "
            "this one. Start without --resume, or give operators fixed uids"
        )
    for uid, parallelism in manifest.stages.items():
        name = manifest.operators.get(uid, uid)
        if stages[uid].parallelism != parallelism:
            raise CheckpointError(
                f"operator '{name}' ran with parallelism {parallelism} when checkpoint "
                f"{manifest.checkpoint} was made and has {stages[uid].parallelism} now; "
                f"resume with parallelism {parallelism}"
            )
