"""Running job graph, as the driver sees it: its sources, sinks, loops and state.

A rescaled job continues with another deployment.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from millrace.engine.checkpoint_coordinator import ResumePoint
from millrace.engine.epoch_check import evicted
from millrace.engine.feedback_coordinator import FeedbackCoordinator
from millrace.engine.job_details import StateSize
from millrace.engine.sink_coordinator import SinkCoordinator
from millrace.engine.source_coordinator import SourceCoordinator
from millrace.engine.state_assignment import SubtaskId
from millrace.engine.state_registry import StateRegistry
from millrace.engine.watermark_alignment import WatermarkAlignments
from millrace.job_graph.job_graph import JobGraph
from millrace.runtime.epoch import Ack, SubtaskPlan
from millrace.runtime.metrics import MetricRegistry
from millrace.state.checkpoint.files import delete_quietly


class Deployment:
    """Makes the plans for a graph's subtasks in each epoch, and processes their answers.

    Args:
        leftovers: files, by path relative to the job's directory, that are deleted once the first
            epoch has been accepted, unless its state refers to them.
        keeps_epochs_open: whether readers look for records all the time.
    """

    def __init__(
        self,
        graph: JobGraph,
        leftovers: Mapping[str, str] | None = None,
        keeps_epochs_open: bool = False,
    ) -> None:
        self.graph = graph
        self.program = graph.program
        available_now = self.program.available_now
        self.sources = [
            SourceCoordinator(node, available_now, keeps_epochs_open) for node in graph.sources
        ]
        self._alignments = WatermarkAlignments(self.sources)
        self.source_stages = {node.stage for node in graph.sources}
        self.sinks = SinkCoordinator(graph.sinks, self.program.commit_retries)
        self.loops = FeedbackCoordinator(graph.loops)
        self.states = StateRegistry()
        self.restoring: set[SubtaskId] = set()
        """Subtasks whose plans must contain their complete state."""
        self._leftovers = dict(leftovers or {})

    def go_on_from(self, restored: ResumePoint) -> None:
        """Restore the graph from a snapshot."""
        self.sinks.restore(restored.pending)
        for source in self.sources:
            snapshot = restored.sources.get(source.node.uid)
            if snapshot is not None:
                source.restore(snapshot)
        self.restoring = self.states.restore(restored.states)

    # -- before an epoch ---------------------------------------------------------------

    def discover(self, now: int) -> bool:
        """Let the sources discover splits; returns whether the next epoch has something to do:
        new or resumed splits, or commits that are due."""
        for source in self.sources:
            source.discover(now)
        due = self.sinks.next_commit()
        has_news = any(source.has_news for source in self.sources) or self._alignments.resumes()
        return has_news or (due is not None and due <= now)

    @property
    def look_at(self) -> int | None:
        """Next time at which there may be new splits (ms since the epoch of Unix); None if there is
        no such time."""
        times = (source.next_wakeup() for source in self.sources)
        return min((at for at in times if at is not None), default=None)

    def look(self, now: int) -> bool:
        """Let the sources discover splits while an epoch is open; returns whether something has
        come up that is not part of the plans of this epoch."""
        for source in self.sources:
            source.discover(now)
        return any(source.has_unplanned_news for source in self.sources)

    def next_discovery(self) -> int | None:
        """Next time at which there may be new splits, or at which a commit is retried (ms since
        the epoch); None if there is no such time."""
        times = (self.look_at, self.sinks.next_commit())
        return min((at for at in times if at is not None), default=None)

    def drain(self) -> None:
        """End all input."""
        for source in self.sources:
            source.drain()

    def halt(self, halted: bool = True) -> None:
        """Stop all reading, so that epochs only make commits; with False, resume reading."""
        for source in self.sources:
            source.halt(halted)

    @property
    def reached_end(self) -> bool:
        """Whether a bounded ("available now") run has read all its input, and no records are in
        loops.
        """
        return all(source.reached_end for source in self.sources) and not self.loops.pending

    def plans(self, records: int, now: int) -> dict[SubtaskId, SubtaskPlan]:
        """Plan of every subtask for the next epoch, with ``records`` records per split."""
        return {
            (stage.id, index): self._plan(stage.id, index, records, now)
            for stage in self.program.stages
            for index in range(stage.parallelism)
        }

    def _plan(self, stage: int, index: int, records: int, now: int) -> SubtaskPlan:
        subtask = (stage, index)
        source = next((s for s in self.sources if s.node.stage == stage), None)
        return SubtaskPlan(
            start=self.states.start(subtask, whole=subtask in self.restoring),
            splits=source.plan(index, records) if source else (),
            no_more_splits=source.no_more_splits if source else True,
            commits=self.sinks.commits(stage, index, now),
            source_events=source.events(index) if source else (),
            max_watermark=self._alignments.max_watermark(source) if source else None,
            drained=self.loops.drained(stage),
        )

    # -- after an epoch ----------------------------------------------------------------

    def accept(self, acks: list[Ack], now: int) -> bool:
        """Process an accepted epoch; returns whether the job's input has ended and all of it is
        processed."""
        for ack in acks:
            self.states.accept(ack)
            self.sinks.accept(ack, now)
            for progress in ack.reading.splits:
                source = next(s for s in self.sources if s.node.uid == progress.source)
                source.accept(progress)
        for source in self.sources:
            source.accept_events(ack for ack in acks if ack.stage == source.node.stage)
        self.restoring = evicted(acks)
        if self._leftovers:
            needed = self.states.files()
            unneeded = [path for name, path in self._leftovers.items() if name not in needed]
            if unneeded:  # rows of parts can be parts of the new subtasks' state
                delete_quietly(*unneeded)
            self._leftovers = {}
        self.loops.accept(acks)
        return all(ack.progress.ended for ack in acks) and not self.loops.pending

    def give_back(self) -> None:
        """Let the sources take back splits after an epoch that failed in the user's code."""
        for source in self.sources:
            source.give_back()

    def state_sizes(self) -> dict[str, StateSize]:
        """Bytes of state that the next checkpoint has to name, and to write, by stage uid."""
        states = self.states
        return {
            stage.uid: StateSize(
                sum(states.unsaved_size((stage.id, index)) for index in range(stage.parallelism)),
                sum(states.size((stage.id, index)) for index in range(stage.parallelism)),
            )
            for stage in self.program.stages
        }

    def source_snapshots(self) -> dict[str, bytes]:
        """Part of each source in a checkpoint, by source uid."""
        return {source.node.uid: source.snapshot() for source in self.sources}

    @property
    def acknowledges_records(self) -> bool:
        """Whether any source acknowledges records to its external system
        (`Source.acknowledges_records`).
        """
        return any(source.node.source.acknowledges_records for source in self.sources)

    @property
    def may_run_ahead(self) -> bool:
        """Whether the job's graph allows subtasks to begin the next epoch before its plan is made,
        because a plan of this graph has nothing that an epoch must begin with."""
        program, sinks = self.program, self.sinks
        needs_plan = program.loops or program.available_now or sinks.has_commits_in_subtasks
        return not (needs_plan or self.restoring or self.acknowledges_records)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Record that a checkpoint with the result of `source_snapshots` is complete."""
        for source in self.sources:
            source.notify_checkpoint_complete(checkpoint_id)

    def driver_metrics(self) -> list[tuple[str, MetricRegistry]]:
        """Metrics of the operators' parts in the driver, by operator uid."""
        enumerators = [(source.node.uid, source.metrics) for source in self.sources]
        return [*enumerators, *self.sinks.metrics.items()]

    def close(self) -> None:
        """Close enumerators and committers."""
        with ExitStack() as closing:
            closing.callback(self.sinks.close)
            for source in self.sources:
                closing.callback(source.close)
