"""Driver's side of the sinks: pending committables, and their commit once they are durable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from functools import partial

from millrace.common.errors import StateError
from millrace.common.sink import CommitMode, CommitterContext, SupportsOrphanSweep
from millrace.engine.sink_commits import BackgroundCommits, DriverCommits, Pause
from millrace.engine.subtask_commits import SubtaskCommits
from millrace.job_graph.job_graph import SinkNode
from millrace.runtime.committing import Committing
from millrace.runtime.epoch import Ack, CommitPlan
from millrace.runtime.metrics import MetricRegistry, RegisteredGroup

Pending = dict[str, list[bytes]]
"""Encoded committables by sink uid."""
Sweep = Callable[[], None]


class SinkCoordinator:
    """Collects committables of accepted epochs and commits them after a checkpoint.

    Args:
        retries: number of retries for a committable before the job fails.
    """

    def __init__(self, nodes: Iterable[SinkNode], retries: int = 10) -> None:
        self.metrics: dict[str, MetricRegistry] = {}
        """Metrics of the committers in the driver, per sink uid."""
        self._in_driver: dict[str, DriverCommits] = {}
        self._in_subtasks: dict[str, SubtaskCommits] = {}
        self._background = BackgroundCommits()
        self._in_background: set[str] = set()
        self._begun: set[str] = set()
        """Sinks that have begun to commit for a checkpoint that is not complete yet."""
        self._commits_nothing: dict[str, str] = {}
        """Names of sinks without a committer, by sink uid."""
        self._stages: dict[int, list[str]] = {}
        """Sinks that commit in their subtasks, by stage."""
        self._sweepable: dict[str, tuple[SupportsOrphanSweep, int]] = {}
        """Sinks that can sweep and their parallelism, by sink uid."""
        self._work_files: dict[str, dict[int, tuple[str, ...]]] = {}
        """Files in use, by sink uid and by subtask, for subtasks that have reported."""
        self._pending: Pending = {}
        self._restored: dict[str, int] = {}
        """Number of the first pending committables that were restored, by sink uid."""
        self._owing = False
        """Whether a durable checkpoint names committables that the driver has not committed."""
        for node in nodes:
            self._add(node, retries)

    def _add(self, node: SinkNode, retries: int) -> None:
        mode = node.sink.commit_mode
        if mode is CommitMode.IN_SUBTASK:
            commits = SubtaskCommits(node.name, node.parallelism, retries)
            self._in_subtasks[node.uid] = commits
            self._stages.setdefault(node.stage, []).append(node.uid)
        else:
            registry = MetricRegistry()
            metrics = RegisteredGroup(registry)
            logger = logging.getLogger(f"millrace.sink.{node.name}")
            committer = node.sink.create_committer(
                CommitterContext(parallelism=node.parallelism, metrics=metrics, logger=logger)
            )
            if committer is not None:
                self.metrics[node.uid] = registry
                committing = Committing(node.name, committer, metrics, logger)
                self._in_driver[node.uid] = DriverCommits(node.name, committing, retries)
                if mode is CommitMode.IN_BACKGROUND:
                    self._in_background.add(node.uid)
            else:
                self._commits_nothing[node.uid] = node.name
        if isinstance(node.sink, SupportsOrphanSweep):
            self._sweepable[node.uid] = (node.sink, node.parallelism)
            self._work_files[node.uid] = {}

    # -- what is pending ---------------------------------------------------------------

    def accept(self, ack: Ack, now: int = 0) -> None:
        """Process a subtask's answer in an accepted epoch: committables, commits and work files."""
        for uid, committables in ack.committing.committables.items():
            if uid not in self._commits_nothing:
                self._pending.setdefault(uid, []).extend(committables)
        for uid in self._stages.get(ack.stage, ()):
            self._in_subtasks[uid].accept(uid, ack, now)
        for uid, files in ack.committing.work_files.items():
            if uid in self._work_files:
                self._work_files[uid][ack.subtask] = files

    def restore(self, pending: Pending) -> None:
        """Take over the pending committables of a checkpoint. They are committed with the next
        one: by then all state has been read, and a return to an older checkpoint causes no
        duplicates.

        Raises:
            StateError: a sink had a committer when the checkpoint was written, and has none now.
        """
        for uid, name in self._commits_nothing.items():
            if pending.get(uid):
                raise StateError(
                    f"the checkpoint has records that the sink '{name}' has not committed yet, and "
                    "with its present settings it commits nothing, so they would be lost: resume "
                    "the job with the former settings (such as its delivery guarantee or "
                    "table.exec.sink.write-ahead), stop it with a savepoint, and start from there"
                )
        self._pending = {uid: list(items) for uid, items in pending.items()}
        self._restored = {uid: len(items) for uid, items in pending.items()}
        self._owing = any(pending.values())

    def pending(self) -> Pending:
        """Committables that the next checkpoint must name as pending.

        Raises JobExecutionError when a commit in the background has failed.
        """
        by_sink = self.outstanding()
        for uid, items in self._pending.items():
            by_sink.setdefault(uid, []).extend(items)
        return by_sink

    def outstanding(self) -> Pending:
        """Committables of durable checkpoints that are being committed.

        Raises JobExecutionError when a commit in the background has failed.
        """
        by_sink = self._background.unfinished()
        for uid, commits in self._in_subtasks.items():
            if items := commits.committables():
                by_sink[uid] = items
        return by_sink

    def oldest_uncommitted(self) -> int | None:
        """First durable checkpoint with committables that are still being committed; None if all
        are committed.

        Raises JobExecutionError when a commit in the background has failed.
        """
        checkpoints = [commits.oldest() for commits in self._in_subtasks.values()]
        checkpoints.append(self._background.oldest())
        return min(
            (checkpoint for checkpoint in checkpoints if checkpoint is not None), default=None
        )

    # -- committing --------------------------------------------------------------------

    def commit(
        self,
        checkpoint: int,
        pause: Pause = time.sleep,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """Commit all pending committables, or begin to. A durable checkpoint must name them. If too
        many commits are in the background, this waits for them.

        Args:
            pause: waits before a commit is tried again.
            ended: called, in any thread, when a commit in the background is done or has failed.

        Raises:
            JobExecutionError: a sink could not be committed; no data is lost.
            JobCancelledError: the job was cancelled meanwhile; no data is lost.
        """
        self._owing = True
        for uid, committables in self._pending.items():
            if uid in self._in_subtasks:
                restored = self._restored.get(uid, 0)
                self._in_subtasks[uid].add(committables, checkpoint, restored)
            elif uid in self._in_background:
                commit = partial(self._in_driver[uid].commit, pause=pause)
                self._background.start(uid, checkpoint, committables, commit, ended)
            elif uid in self._in_driver and committables:
                self._in_driver[uid].commit(committables, pause)
        self._pending, self._restored, self._begun = {}, {}, set()
        self._owing = False
        self._background.wait_for_room()

    def begin_commit(self) -> None:
        """Let the sinks that commit in the background begin with the pending committables, while
        the next checkpoint is being written. `commit` or `abandon_commit` follows."""
        for uid, committables in self._pending.items():
            if uid in self._in_background and committables:
                self._begun.add(uid)
                begin = partial(self._in_driver[uid].begin, tuple(committables))
                self._background.prepare(uid, begin)

    def abandon_commit(self) -> None:
        """Let the sinks undo what they have begun, because the checkpoint was not completed."""
        begun, self._begun = self._begun, set()
        for uid in begun:
            self._background.prepare(uid, self._in_driver[uid].abandon)

    def commits(self, stage: int, subtask: int, now: int) -> dict[str, tuple[CommitPlan, ...]]:
        """Committables for a subtask to commit in the next epoch, per sink uid."""
        uids = self._stages.get(stage, ())
        plans = {uid: self._in_subtasks[uid].plan(subtask, now) for uid in uids}
        return {uid: plan for uid, plan in plans.items() if plan}

    def next_commit(self) -> int | None:
        """Time of the next commits by subtasks (ms since the epoch); None if there are none."""
        times = (commits.due() for commits in self._in_subtasks.values())
        return min((at for at in times if at is not None), default=None)

    def finish(self) -> None:
        """Wait for commits in the background.

        Raises JobExecutionError if a commit has failed.
        """
        self._background.wait()

    @property
    def has_commits_in_subtasks(self) -> bool:
        """Whether subtasks may have something to commit."""
        return bool(self._in_subtasks)

    @property
    def is_pending_in_subtasks(self) -> bool:
        """Whether the next checkpoint gives subtasks something to commit."""
        return any(self._pending.get(uid) for uid in self._in_subtasks)

    @property
    def awaits_subtasks(self) -> bool:
        """Whether subtasks have yet to commit committables of a durable checkpoint."""
        return self.next_commit() is not None

    @property
    def owes(self) -> bool:
        """Whether a durable checkpoint names committables that are not committed yet, or whose
        commit failed."""
        return self._owing or self.awaits_subtasks or self._background.owes

    # -- leftovers ---------------------------------------------------------------------

    def sweeps(self, run_ids: Collection[str], older_than: int) -> list[Sweep] | None:
        """Functions that delete old files of failed attempts, one per sink: files of these runs
        that are older than ``older_than`` ms. None if a subtask has not reported yet which files
        it uses, or if a commit is pending."""
        if self._pending or self.outstanding():
            return None
        sweeps: list[Sweep] = []
        for uid, (sink, parallelism) in self._sweepable.items():
            reported = self._work_files[uid]
            if len(reported) < parallelism:
                return None
            in_use = {path for files in reported.values() for path in files}
            sweeps.append(partial(sink.sweep, in_use, run_ids, older_than))
        return sweeps

    def close(self) -> None:
        """Finish the commits in the background, and close the committers."""
        with ExitStack() as closing:  # whatever one of them raises, the others are closed
            for commits in self._in_driver.values():
                closing.callback(commits.close)
            closing.callback(self._background.close)  # first
