"""Which alerts the rules give, on a clock of the test's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event, RLock
from typing import Any

import msgspec
import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.job import JobStatus
from millrace.engine.archived_job import ArchivedJob
from millrace.engine.job_details import CheckpointHistory, CheckpointStats, EpochAttempt, JobDetails
from millrace.server.alerts.alert import Alert
from millrace.server.alerts.alerts import CALM, Alerts
from millrace.server.alerts.webhook import Webhook
from millrace.server.alerts.webhook_settings import WebhookSettings
from millrace.server.observed_job import ObservedJob
from millrace.server.registry import RegisteredJob, Submission

DEFAULTS = Configuration(
    {
        "millrace.alerts.restarts": "2",
        "millrace.alerts.restarts-window": "1 min",
        "millrace.alerts.lag": "30 s",
        "millrace.alerts.checkpoint-age": "20 s",
    }
)
MINUTE = 60_000
_LATE = JobDetails(job_name="clicks", status=JobStatus.RUNNING, watermark=0)


class Kept(Webhook):
    """Keeps alerts instead of sending them."""

    def __init__(self) -> None:
        super().__init__(WebhookSettings("kept", "http://localhost/"))
        self.alerts: list[Alert] = []

    def put(self, alert: Alert) -> None:
        self.alerts.append(alert)


class Scene:
    """One job, whose report the test changes, and the server's alerts."""

    def __init__(self, **settings: str) -> None:
        self.now = 10 * MINUTE
        self.new_processes = 0
        self.job = RegisteredJob("1" * 32, Submission("clicks.py"), JobStatus.RUNNING)
        self.details = JobDetails(job_name="clicks", status=JobStatus.RUNNING)
        self.archive = ArchivedJob(
            run_id="r",
            max_parallelism=128,
            checkpoint_interval=1_000,
            settings={**DEFAULTS.to_dict(), **settings},
        )
        self.webhook = Kept()
        self.alerts = Alerts([self.webhook], self._jobs, lambda job: self._observed(), DEFAULTS)
        self.alerts.address = "http://server:8081/"
        self.alerts.lead()

    def _observed(self) -> ObservedJob:
        archive = msgspec.structs.replace(self.archive, details=self.details)
        return ObservedJob(self.job, archive, self.now, new_processes=lambda: self.new_processes)

    def _jobs(self) -> list[ObservedJob]:
        return [] if self.job.is_over else [self._observed()]

    def after(self, millis: int, **details: Any) -> list[str]:
        """Let time pass, change the job's report, look; the alerts that came of it."""
        self.now += millis
        self.details = replace(self.details, **details)
        self.alerts.look()
        return self.new()

    def new(self) -> list[str]:
        found = [f"{alert.alert} {alert.state}" for alert in self.webhook.alerts]
        self.webhook.alerts.clear()
        return found


def checkpoint(number: int, epoch: int, time: int) -> CheckpointHistory:
    return CheckpointHistory(number, 0, (CheckpointStats(number, epoch, time, 0.0),))


def test_lag() -> None:
    scene = Scene()
    assert scene.after(0, watermark=scene.now - 29_000) == []
    assert scene.after(2_000) == ["watermark-lag firing"]
    assert scene.after(1_000) == []
    assert scene.after(0, watermark=scene.now + 2 * CALM) == []
    assert scene.after(CALM) == ["watermark-lag resolved"]


def test_a_lag_that_rises_and_falls_is_one_alert() -> None:
    scene = Scene()
    found = []
    for second in range(120):
        lag = 30_500 if second % 2 else 29_500
        found += scene.after(1_000, watermark=scene.now + 1_000 - lag)
    assert found == ["watermark-lag firing"]


def test_the_text_is_for_people() -> None:
    scene = Scene()
    scene.alerts.look()
    scene.now += 45_000
    scene.details = replace(scene.details, watermark=scene.now - 90_000)
    scene.alerts.look()
    [alert] = scene.webhook.alerts
    assert alert.text == (
        "Job 'clicks' is 1.5 min behind the clock by its watermark (allowed: 30 s). "
        f"http://server:8081/#/jobs/{'1' * 32}"
    )
    assert (alert.value, alert.threshold) == (90_000, 30_000)
    assert (alert.job.name, alert.job.status) == ("clicks", "RUNNING")


def test_restarts_within_the_window() -> None:
    scene = Scene()
    assert scene.after(0, restarts=5) == []  # from before this server
    assert scene.after(1_000, restarts=7) == []
    scene.new_processes = 1
    # the new process counts from 0 again
    assert scene.after(1_000, restarts=0) == ["restarts firing"]
    assert scene.after(30_000) == []
    assert scene.after(30_000) == []
    assert scene.after(CALM) == ["restarts resolved"]
    assert scene.after(1_000, restarts=1) == []


def test_restarts_that_are_far_apart() -> None:
    scene = Scene()
    for number in range(10):
        assert scene.after(31_000, restarts=number) == []


def test_age_of_the_checkpoint() -> None:
    scene = Scene()
    began = scene.now
    assert scene.after(0, checkpoints=checkpoint(1, 5, began), epoch=5) == []
    assert scene.after(20_000, epoch=8) == []
    assert scene.after(1_000) == ["checkpoint-age firing"]
    second = checkpoint(2, 9, scene.now)
    assert scene.after(1_000, checkpoints=second, epoch=8) == []
    assert scene.after(CALM) == ["checkpoint-age resolved"]


def test_an_idle_job_needs_no_checkpoint() -> None:
    scene = Scene()
    assert scene.after(0, checkpoints=checkpoint(1, 6, scene.now), epoch=5) == []
    assert scene.after(60 * MINUTE) == []
    # the age counts from when there was something to checkpoint
    assert scene.after(1_000, epoch=6) == []
    assert scene.after(20_000) == ["checkpoint-age firing"]


def test_a_stuck_epoch_is_not_idle() -> None:
    scene = Scene()
    assert scene.after(0, checkpoints=checkpoint(1, 6, scene.now), epoch=5) == []
    running = EpochAttempt(6, 0, scene.now)
    assert scene.after(1_000, running=running) == []
    assert scene.after(21_000) == ["checkpoint-age firing"]


def test_settings_of_the_job_go_before() -> None:
    scene = Scene(**{"millrace.alerts.lag": "10 min"})
    assert scene.after(0, watermark=scene.now - 9 * MINUTE) == []
    assert scene.after(2 * MINUTE) == ["watermark-lag firing"]


def test_a_failed_job() -> None:
    scene = Scene()
    assert scene.after(0, watermark=0) == ["watermark-lag firing"]
    error = "Traceback:\n  File\nValueError: no number"
    scene.job = replace(scene.job, status=JobStatus.FAILED, ended=scene.now, error=error)
    scene.alerts.job_ended(scene.job)
    scene.alerts.look()
    assert "has failed: ValueError: no number" in scene.webhook.alerts[-1].text
    assert scene.new() == ["watermark-lag resolved", "job-failed firing"]
    assert scene.after(1_000) == []


def test_a_message_calls_nobody_and_has_no_password() -> None:
    scene = Scene()
    error = "Error: <!channel> postgresql://ada:geheim@host/db & more"
    scene.job = replace(scene.job, status=JobStatus.FAILED, ended=scene.now, error=error)
    scene.alerts.job_ended(scene.job)
    scene.alerts.look()
    [alert] = scene.webhook.alerts
    assert "&lt;!channel&gt;" in alert.text
    assert "&amp; more" in alert.text
    assert "<" not in alert.text
    assert "geheim" not in alert.text


def test_a_cancelled_job_is_no_alarm() -> None:
    scene = Scene()
    scene.job = replace(scene.job, status=JobStatus.CANCELED, ended=scene.now)
    scene.alerts.job_ended(scene.job)
    scene.alerts.look()
    assert scene.new() == []


def test_a_job_may_fail_quietly() -> None:
    scene = Scene(**{"millrace.alerts.failed": "false"})
    scene.job = replace(scene.job, status=JobStatus.FAILED, ended=scene.now, error="x")
    scene.alerts.job_ended(scene.job)
    scene.alerts.look()
    assert scene.new() == []


def test_a_job_that_ends_while_jobs_are_listed_has_had_its_last_alert() -> None:
    scene = Scene()
    running = scene._observed()
    late = replace(running, archive=msgspec.structs.replace(running.archive, details=_LATE))

    def listed() -> list[ObservedJob]:
        scene.job = replace(scene.job, status=JobStatus.FAILED, ended=scene.now, error="x")
        scene.alerts.job_ended(scene.job)
        return [late]

    scene.alerts._jobs = listed
    scene.alerts.look()
    assert scene.new() == ["job-failed firing"]


def test_a_job_with_a_damaged_report_silences_no_other(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    good = scene._observed()
    good = replace(good, archive=msgspec.structs.replace(good.archive, details=_LATE))
    settings = {"millrace.alerts.lag": "soon"}
    bad = replace(
        good,
        job=replace(good.job, id="2" * 32),
        archive=msgspec.structs.replace(good.archive, settings=settings),
    )
    scene.alerts._jobs = lambda: [bad, good]
    scene.alerts.look()
    scene.alerts.look()
    assert [alert.job.id for alert in scene.webhook.alerts] == [good.id]
    assert len([record for record in caplog.records if bad.id in record.getMessage()]) == 1


def test_a_standby_is_silent() -> None:
    scene = Scene()
    scene.alerts.stand_by()
    assert scene.after(0, watermark=0) == []
    scene.alerts.lead()
    assert scene.after(0) == ["watermark-lag firing"]


def test_a_job_that_cannot_be_observed_ends_all_the_same(tmp_path: Path) -> None:
    def fails(job: RegisteredJob) -> ObservedJob:
        raise OSError("disk")

    alerts = Alerts([Kept()], list, fails, DEFAULTS)
    alerts.job_ended(RegisteredJob("1" * 32, Submission("x.py")))
    alerts.look()


def test_the_end_of_a_job_waits_for_nobody_who_observes_it() -> None:
    """The supervisor tells ends under its lock, for which threads that observe jobs wait."""
    supervisor, observed = RLock(), Event()

    def observe(job: RegisteredJob) -> ObservedJob:
        with supervisor:
            observed.set()
            return scene._observed()

    scene = Scene()
    alerts = Alerts([scene.webhook], list, observe, DEFAULTS)
    alerts.start()
    try:
        with supervisor:
            scene.job = replace(scene.job, status=JobStatus.FAILED, error="x")
            alerts.job_ended(scene.job)  # would observe the job here, under the lock
            assert not observed.is_set()
        assert observed.wait(60)
    finally:
        alerts.close()
