"""Triggers: asynchronous requests to jobs, kept until they are answered.

A trigger is stored before its job gets the command, and its answer before it is taken from the
mailbox. So the outcome can be asked for by the trigger's id, also after the server was killed.
Flink: the asynchronous operations of its REST API.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event, RLock, Thread
from typing import Any

from millrace.common.errors import JobControlError, MillraceError
from millrace.common.job import JobID
from millrace.engine.control_mailbox import Mailbox, MailboxAnswer, RunNote
from millrace.server.job_process import JobProcess
from millrace.server.registry import TriggeredOperation
from millrace.server.sql_registry import SqlRegistry

__all__ = ["STOP", "JobCommand", "OperationTriggers", "TriggerTakenError"]

log = logging.getLogger(__name__)

PERIOD = 0.1
"""Seconds between two checks for answers."""
PATIENCE = 60_000
"""Milliseconds in which a job must become ready for requests, or accept one."""
REMEMBERED = 1_000
"""Number of answered triggers that are kept per job. They also hold the directories of savepoints,
which no other place records."""
STOP = "stop"
"""Kind of the triggers that end their job."""
LOST = 5_000
"""Milliseconds after which a request that is no longer with the job counts as lost."""


class TriggerTakenError(JobControlError):
    """The trigger id is already used by another request."""


@dataclass(frozen=True, slots=True)
class JobCommand:
    """A command of `millrace.engine.control_commands` with its arguments."""

    name: str
    arguments: Mapping[str, Any]


class OperationTriggers:
    """The triggers of a registry; safe for several threads.

    Args:
        process: the process of a job.
        now: the time, in ms since the epoch of Unix.
    """

    def __init__(
        self,
        registry: SqlRegistry,
        process: Callable[[str], JobProcess],
        now: Callable[[], int],
    ) -> None:
        self._registry = registry
        self._process = process
        self._now = now
        self._commands: dict[str, JobCommand] = {}
        """Commands of triggers that could not be sent to their job yet, by trigger."""
        self._working: set[str] = set()
        """Triggers that the server itself carries out."""
        self._missing: dict[str, int] = {}
        """Time since which a request is neither waiting nor answered, by trigger."""
        self._ending: dict[str, tuple[int, MailboxAnswer]] = {}
        """Answers of jobs that are about to end, and since when, by trigger. The job's next run
        deletes them."""
        self._open: dict[str, TriggeredOperation] | None = None
        """Open triggers by id; None if they are not read from the registry yet."""
        self._leads = False
        self._lock = RLock()
        self._closed = Event()
        self._thread = Thread(target=self._follow, name="millrace-triggers", daemon=True)

    def lead(self) -> None:
        """Begin to follow the triggers, including those of the previous leader."""
        with self._lock:
            self._open = None
            self._leads = True
            if self._thread.ident is None:
                self._thread.start()

    def stand_by(self) -> None:
        """Stop following the triggers, because another server leads."""
        self._leads = False

    def close(self) -> None:
        """Stop following the triggers; the next server continues."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    # -- what is asked -----------------------------------------------------------------------------

    def trigger(
        self, job: str, kind: str, command: JobCommand, id: str | None = None
    ) -> TriggeredOperation:
        """Send a command to a job and return the trigger's id.

        Args:
            id: id of the trigger, None for a new one; a known id is not triggered again.

        Raises:
            TriggerTakenError: the id is that of something else, or of another job.
        """
        with self._lock:
            known = self._registry.trigger(id) if id is not None else None
            if known is not None and (known.job, known.kind) != (job, kind):
                raise TriggerTakenError(
                    f"the trigger {id} is a {known.kind} of {known.job or 'no job'}, not a {kind} "
                    f"of {job}; choose another triggerId"
                )
            if known is not None:
                return known
            trigger = TriggeredOperation(id or str(JobID.generate()), job, kind, self._now())
            self._commands[trigger.id] = command
            self._keep(trigger)
            return self._look_after(trigger)

    def carry_out(self, kind: str, work: Callable[[], Any]) -> str:
        """Run a function in a thread of its own and return the trigger's id."""
        with self._lock:
            trigger = TriggeredOperation(str(JobID.generate()), "", kind, self._now())
            self._working.add(trigger.id)
            self._keep(trigger)
        Thread(target=self._work, args=(trigger, work), name=f"millrace-{kind}").start()
        return trigger.id

    def find(self, id: str) -> TriggeredOperation | None:
        """The current state of a trigger; None if the id is unknown."""
        with self._lock:
            trigger = self._registry.trigger(id)
            if trigger is None or trigger.is_done:
                return trigger
            return self._look_after(trigger)

    # -- looking after -----------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._closed.wait(PERIOD):
            try:
                if self._leads:
                    self.look()
            except Exception:  # the registry may be back in a moment
                log.exception("triggers could not be followed")

    def look(self) -> None:
        """Collect the answers to triggers that have arrived since the last call."""
        with self._lock:
            for trigger in list(self._unanswered().values()):
                try:
                    self._look_after(trigger)
                except OSError:  # of one job's directory: the others are answered
                    log.exception("trigger %s could not be followed", trigger.id)

    def _unanswered(self) -> dict[str, TriggeredOperation]:
        if self._open is None:
            self._open = {trigger.id: trigger for trigger in self._registry.open_triggers()}
        return self._open

    def _look_after(self, trigger: TriggeredOperation) -> TriggeredOperation:
        if trigger.id in self._working:
            return trigger
        try:
            if not trigger.job:
                return self._fail(
                    trigger, "the server ended before the operation was done; request it again"
                )
            if not trigger.run_id:
                return self._ask(trigger)
            return self._take_answer(trigger)
        except MillraceError as error:
            return self._fail(trigger, str(error))

    def _ask(self, trigger: TriggeredOperation) -> TriggeredOperation:
        command = self._commands.get(trigger.id)
        if command is None:
            return self._fail(
                trigger, "the server ended before the job got the request; request it again"
            )
        job = self._registry.job(trigger.job)
        if job is None or job.is_over:
            return self._fail(trigger, "the job has ended")
        mailbox = self._process(trigger.job).mailbox()
        run = mailbox.running() if mailbox is not None else None
        if mailbox is None or run is None:
            if self._now() - trigger.created > PATIENCE:
                return self._fail(trigger, "the job has not begun to run; look at its log")
            return trigger
        trigger = replace(trigger, run_id=run.run_id, message=mailbox.new_id())
        self._keep(trigger)
        mailbox.send(run.run_id, command.name, dict(command.arguments), trigger.message)
        self._commands.pop(trigger.id, None)
        return trigger

    def _take_answer(self, trigger: TriggeredOperation) -> TriggeredOperation:
        mailbox = self._process(trigger.job).mailbox()
        if mailbox is None:
            return self._fail(trigger, "the job's directory no longer exists")
        # before the answer is looked for: one that came just before its end is not missed
        running = mailbox.running()
        answer = mailbox.receive(trigger.message, remove=False)
        if answer is None and trigger.id in self._ending:
            answer = self._ending[trigger.id][1]
        if answer is not None and answer.state != "accepted":
            if self._is_ending(trigger, answer, running):
                return trigger
            done = self._answered(trigger, answer)
            mailbox.receive(trigger.message)
            return done
        if running is None or running.run_id != trigger.run_id:
            mailbox.withdraw(trigger.message)
            return self._fail(
                trigger, "the job ended before the operation was done, or was restarted"
            )
        if answer is None:
            return self._not_taken(trigger, mailbox)
        return trigger

    def _is_ending(
        self, trigger: TriggeredOperation, answer: MailboxAnswer, running: RunNote | None
    ) -> bool:
        """Whether a job that was stopped has not ended yet: its successor would find it running.
        A job that takes too long is not waited for."""
        if trigger.kind != STOP or answer.state != "done":
            return False
        since, _ = self._ending.setdefault(trigger.id, (self._now(), answer))
        job = self._registry.job(trigger.job)
        runs_again = running is not None and running.run_id != trigger.run_id
        is_over = job is None or job.is_over or runs_again
        return not is_over and self._now() - since < PATIENCE

    def _not_taken(self, trigger: TriggeredOperation, mailbox: Mailbox) -> TriggeredOperation:
        if mailbox.is_waiting(trigger.message):
            self._missing.pop(trigger.id, None)
            is_late = self._now() - trigger.created > 2 * PATIENCE
            if is_late and mailbox.withdraw(trigger.message):
                return self._fail(trigger, "the job does not answer; look at its stacks")
        elif self._now() - self._missing.setdefault(trigger.id, self._now()) > LOST:
            return self._fail(
                trigger, "the request was lost when the previous server ended; request it again"
            )
        return trigger

    def _answered(self, trigger: TriggeredOperation, answer: MailboxAnswer) -> TriggeredOperation:
        if answer.state == "failed":
            return self._fail(trigger, answer.error)
        return self._finish(replace(trigger, result=json.dumps(answer.result)))

    def _fail(self, trigger: TriggeredOperation, error: str) -> TriggeredOperation:
        return self._finish(replace(trigger, error=error))

    def _finish(self, trigger: TriggeredOperation) -> TriggeredOperation:
        self._keep(trigger)
        self._registry.forget_triggers(trigger.job, REMEMBERED)
        self._commands.pop(trigger.id, None)
        self._missing.pop(trigger.id, None)
        self._ending.pop(trigger.id, None)
        return trigger

    def _keep(self, trigger: TriggeredOperation) -> None:
        self._registry.put_trigger(trigger)
        if trigger.is_done:
            self._unanswered().pop(trigger.id, None)
        else:
            self._unanswered()[trigger.id] = trigger

    def _work(self, trigger: TriggeredOperation, work: Callable[[], Any]) -> None:
        try:
            done = replace(trigger, result=json.dumps(work()))
        except (MillraceError, OSError) as error:
            done = replace(trigger, error=str(error))
        except Exception as error:
            log.exception("%s could not be executed", trigger.kind)
            done = replace(trigger, error=f"{type(error).__name__}: {error}")
        with self._lock:
            try:
                self._finish(done)
            finally:
                self._working.discard(trigger.id)
