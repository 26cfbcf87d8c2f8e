"""Tasks that live on although their epoch was refused: what they write never becomes visible."""

from __future__ import annotations

from pathlib import Path

import fault_pipeline as pipeline
import pytest
from fault_cluster import Elements, FaultyCluster
from fault_drivers import job_dir, run_driver

from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.state.checkpoint.delta_set import read_delta_set
from millrace.state.checkpoint.directory import complete_checkpoints
from millrace.state.checkpoint.manifest import read_manifest
from millrace.state.state_delta import FileRef

pytestmark = pytest.mark.fault

COUNT = 400
HAUNTED = 3


class HauntedCluster(FaultyCluster):
    """The tasks of one epoch stop short of writing their segments, those of the last level before
    they do anything. The epoch is refused; in epoch ``wake_at`` they go on to their end."""

    def __init__(self, wake_at: int, directory: Path) -> None:
        super().__init__(size=1)
        self.wake_at = wake_at
        self.haunting = False
        self.undead: list[int] = []
        self.written: list[str] = []
        """Files that the zombies have written. The job deletes them later, as they are nobody's."""
        self._directory = directory

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        self.haunting = (plan.epoch, plan.attempt) == (HAUNTED, 0)
        acks = super().run_epoch(plan)
        if self.haunting:
            self._replace(0)
            raise ExecutorError("the epoch is refused, its tasks live on")
        if plan.epoch == self.wake_at:
            for zombie in self.zombies:
                list(zombie)
            self.written = [name for name in all_files(self._directory) if self._is_undead(name)]
        return acks

    def _is_undead(self, name: str) -> bool:
        return any(f"-{HAUNTED}-0-{attempt}" in name for attempt in self.undead)

    def _run_task(
        self, plan: EpochPlan, level: int, partition: int, elements: list[bytes], fault: str
    ) -> Elements:
        if not self.haunting:
            return super()._run_task(plan, level, partition, elements, fault)
        zombie = self._task(0, plan, level, partition, elements)
        self.undead.append(self.last_attempt)
        self.zombies.append(zombie)
        made: Elements = []
        while sum(is_end(element) for _, element in made) < self._ends(level, partition):
            made.append(next(zombie))
        return made

    def _ends(self, level: int, partition: int) -> int:
        """How many END buffers a task sends, just before it writes its segments."""
        program = self.program
        width = {stage.id: stage.parallelism for stage in program.stages}
        carried = {s.id: len(program.subtasks_of(s, partition)) for s in program.stages_at(level)}
        return sum(
            carried.get(edge.source_stage, 0) * min(program.max_width, width[edge.target_stage])
            for edge in program.edges
        )

    def _wake_zombies(self) -> None:
        """Only when it is time."""


def all_files(directory: Path) -> list[str]:
    """Names of the segments, and of the chunks that readers do not see."""
    chunks = [path.name for path in (directory / "out").rglob(".*") if path.name.count(".") > 1]
    return [*chunks, *(path.name for path in Path(job_dir(directory), "shared").iterdir())]


def is_end(element: bytes) -> bool:
    return Buffer.unpack(element).kind == BufferKind.END


@pytest.mark.parametrize("wake_at", [HAUNTED, HAUNTED + 1, HAUNTED + 3])
def test_what_zombies_write_stays_invisible(
    wake_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They write segments and chunks, as their names tell, and nothing ever refers to them."""
    # in one of 125 runs, all readers would pause in the zombies' epoch, which then write nothing
    monkeypatch.setattr(pipeline, "PAUSE", 0)
    cluster = HauntedCluster(wake_at, tmp_path)
    run_driver(tmp_path, COUNT, cluster=cluster, inline_limit=0)

    pipeline.check_output(tmp_path / "out", COUNT, 3)
    endings = tuple(f"-{HAUNTED}-0-{attempt}" for attempt in cluster.undead)
    assert cluster.written
    referred = referred_files(job_dir(tmp_path))
    assert not any(ending in name for name in referred for ending in endings)


def referred_files(directory: Path) -> set[str]:
    """All files that the deltas of complete checkpoints are in."""
    deltas = [
        delta
        for number in complete_checkpoints(directory)
        for _, _, delta in read_delta_set(directory, read_manifest(directory, number)).live()
    ]
    return {delta.data.path for delta in deltas if isinstance(delta.data, FileRef)}
