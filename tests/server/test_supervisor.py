"""Jobs in processes of their own: how they end, what kills them, and who finds them again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.server.job_process import JobProcess
from millrace.server.registry import Submission

pytestmark = pytest.mark.fault


def restarts(attempts: int) -> tuple[str, ...]:
    """Options of a job that is restarted so often."""
    prefix = "restart-strategy"
    settings = (
        f"{prefix}.type=fixed-delay",
        f"{prefix}.fixed-delay.delay=0 s",
        f"{prefix}.fixed-delay.attempts={attempts}",
    )
    return tuple(word for setting in settings for word in ("--conf", setting))


def kill(servers, id: str, eventually) -> None:
    """Kill a job's process, which is known once it holds the job's lock."""
    process = servers.supervisor.process(id)
    eventually(lambda: process.pid() is not None)
    os.kill(process.pid(), signal.SIGKILL)


@pytest.mark.turns(5)
def test_a_job_finishes(servers, eventually) -> None:
    job = servers.counts(last=30)
    eventually(lambda: servers.job(job.id).is_over)
    assert servers.status(job.id) == "FINISHED", servers.supervisor.process(job.id).log_tail()
    assert servers.outputs() == list(range(1, 31))
    (attempt,) = servers.registry.attempts(job.id)
    assert attempt.outcome == "finished"


@pytest.mark.turns(5)
def test_a_killed_process_is_replaced_until_its_strategy_gives_up(servers, eventually) -> None:
    job = servers.counts(*restarts(2))
    for number in range(3):
        eventually(lambda n=number: servers.runs(job.id) and attempts(servers, job.id) == n + 1)
        kill(servers, job.id, eventually)
        eventually(lambda: servers.status(job.id) != "RUNNING")
    eventually(lambda: servers.job(job.id).is_over)
    ended = servers.job(job.id)
    assert ended.status.name == "FAILED"
    assert ended.error.startswith("its process has died (signal 9, SIGKILL) and is not restarted")
    outcomes = [attempt.outcome for attempt in servers.registry.attempts(job.id)]
    assert outcomes == ["crashed: signal 9, SIGKILL"] * 3
    numbers = servers.outputs()
    assert numbers
    assert numbers == list(range(1, len(numbers) + 1))


def attempts(servers, id: str) -> int:
    return len(servers.registry.attempts(id))


LOSSY = f"""
import sys
from pathlib import Path

sys.path.insert(0, {str(Path(__file__).parent / "jobs")!r})
import counting
from millrace.engine.executor import ApplicationLostError
from millrace.testing.local_executor import LocalExecutor

lost, run_epoch = Path(sys.argv[1]).parent / "lost", LocalExecutor.run_epoch

def run_or_lose(self, plan):
    if plan.epoch == 6 and not lost.exists():
        lost.touch()
        raise ApplicationLostError("the application has ended: its Java process died. Start it")
    return run_epoch(self, plan)

LocalExecutor.run_epoch = run_or_lose
counting.SETTINGS["execution.checkpointing.externalized-checkpoint-retention"] = (
    "NO_EXTERNALIZED_CHECKPOINTS"
)
counting.build(sys.argv[1], 100).execute("counting")
"""


@pytest.mark.turns(5)
def test_a_job_whose_spark_has_ended_goes_on_in_another_process(
    servers, tmp_path, eventually
) -> None:
    """Where memory runs out, the system ends Java first."""
    program = tmp_path / "lossy.py"
    program.write_text(LOSSY)
    out = str(servers.directory / "out")
    job = servers.supervisor.submit(Submission(str(program), None, (out,), restarts(2)))
    eventually(lambda: servers.job(job.id).is_over)
    assert servers.status(job.id) == "FINISHED", servers.supervisor.process(job.id).log_tail()
    outcomes = [attempt.outcome for attempt in servers.registry.attempts(job.id)]
    assert outcomes == ["crashed: the application has ended: its Java process died", "finished"]
    assert servers.outputs() == list(range(1, 101))


@pytest.mark.turns(5)
def test_a_job_outlives_its_server_and_is_adopted(servers, eventually) -> None:
    job = servers.counts(*restarts(1))
    eventually(lambda: servers.runs(job.id))
    pid = servers.supervisor.process(job.id).pid()
    servers.next()
    assert servers.supervisor.process(job.id).pid() == pid
    for _ in range(5):
        servers.supervisor.look()
    assert (servers.status(job.id), attempts(servers, job.id)) == ("RUNNING", 1)
    assert servers.supervisor.process(job.id).start(job.submission) is None
    # it is not its child, and restarted all the same
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: servers.runs(job.id) and attempts(servers, job.id) == 2)
    servers.supervisor.cancel(job.id)
    eventually(lambda: servers.status(job.id) == "CANCELED")
    numbers = servers.outputs()
    assert numbers
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.turns(5)
def test_a_job_that_ended_without_its_server(servers, eventually) -> None:
    job = servers.counts(last=30)
    process = servers.supervisor.process(job.id)
    eventually(lambda: not process.is_alive())
    servers.next()
    assert servers.status(job.id) == "FINISHED"
    assert attempts(servers, job.id) == 1


@pytest.mark.turns(5)
def test_a_cancelled_job_is_not_restarted(servers, eventually) -> None:
    job = servers.counts(*restarts(5))
    eventually(lambda: servers.runs(job.id))
    servers.supervisor.cancel(job.id)
    kill(servers, job.id, eventually)
    eventually(lambda: servers.job(job.id).is_over)
    assert (servers.status(job.id), attempts(servers, job.id)) == ("CANCELED", 1)


@pytest.mark.turns(5)
def test_a_job_is_cancelled_before_it_has_begun(servers, eventually) -> None:
    job = servers.counts()
    servers.supervisor.cancel(job.id)
    eventually(lambda: servers.job(job.id).is_over)
    assert servers.status(job.id) == "CANCELED"


@pytest.mark.turns(5)
def test_a_program_that_fails_at_once_is_not_started_again(servers, tmp_path, eventually) -> None:
    program = tmp_path / "wrong.py"
    program.write_text("1 / 0\n")
    job = servers.supervisor.submit(Submission(str(program)))
    eventually(lambda: servers.job(job.id).is_over)
    ended = servers.job(job.id)
    assert ended.status.name == "FAILED"
    first, *_, last = ended.error.splitlines()
    assert first == "Traceback (most recent call last):"
    assert last == "ZeroDivisionError: division by zero", "what people are told, and nothing else"


@pytest.mark.turns(5)
def test_why_a_program_fails_is_told_without_json(servers, tmp_path, eventually) -> None:
    program = tmp_path / "wrong.py"
    program.write_text("import sys\nprint('no price')\nsys.exit(3)\n")
    json = "--conf=millrace.logging.format=json"
    job = servers.supervisor.submit(Submission(str(program), options=(json,)))
    eventually(lambda: servers.job(job.id).is_over)
    assert servers.supervisor.process(job.id).log.read_text().startswith("{")
    assert servers.job(job.id).error == "no price\n"


@pytest.mark.turns(5)
def test_one_process_even_if_the_server_dies_as_it_starts(tmp_path: Path, eventually) -> None:
    """The lock is the process's own: whoever started it may be gone."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from millrace.server.job_process import JobProcess\n"
        "from millrace.server.registry import Submission\n"
        f"command = ({sys.executable!r}, '-c', 'import time; time.sleep(600)')\n"
        "JobProcess(Path(sys.argv[1]), command).start(Submission('job.py'))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "job")], check=False)
    process = JobProcess(tmp_path / "job")
    assert process.is_alive()
    assert process.start(Submission("job.py")) is None
    eventually(process.pid)
    os.killpg(process.pid(), signal.SIGKILL)
    eventually(lambda: not process.is_alive())
    assert process.exit_code(0) is None


@pytest.mark.turns(5)
def test_settings_are_not_on_the_command_line(servers, eventually) -> None:
    """Every user of the machine sees those; what fails does not tell them to readers of its log."""
    settings = {
        "metrics.reporters": "dog",
        "metrics.reporter.dog.factory.class": "datadog",
        "metrics.reporter.dog.host": "http://127.0.0.1:9",
        "metrics.reporter.dog.apikey": "geheim",
    }
    job = servers.counts(*(f"--conf={key}={value}" for key, value in settings.items()))
    eventually(lambda: servers.runs(job.id))
    process = servers.supervisor.process(job.id)
    assert b"geheim" not in Path(f"/proc/{process.pid()}/cmdline").read_bytes()
    archive = process.archive()
    assert archive.settings["metrics.reporter.dog.apikey"] == "******"
    assert archive.settings["metrics.reporter.dog.factory.class"] == "datadog"
    servers.supervisor.cancel(job.id)
    eventually(lambda: servers.job(job.id).is_over)
    assert "geheim" not in process.log.read_text()
