"""What a supervisor decides, without processes of its own: its jobs' are made up."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import gallery  # beside this file: tests are no packages
import msgspec
import pytest

from millrace.common.config.restart_strategy import RestartStrategies
from millrace.common.errors import CheckpointError
from millrace.engine.process_identity import descendants
from millrace.server.job_process import JobProcess
from millrace.server.log_part import log_part
from millrace.server.registry import LeadershipLostError, Submission
from millrace.server.sql_registry import SqlRegistry
from millrace.server.supervisor import Supervisor

ENDS = (sys.executable, "-c", "import sys; sys.exit(int(sys.argv[-1]))")
"""A program that ends with the code that is its last argument."""


class ManualClock:
    """Shows what it is told."""

    def __init__(self) -> None:
        self.time = 1_000_000

    def now(self) -> int:
        return self.time


class Scene:
    """A supervisor whose clock stands still."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = ManualClock()
        self.leads = True
        self.registry = SqlRegistry(f"sqlite:///{directory}/registry.db")
        self.registry.enter(1)
        self.supervisor = Supervisor(
            self.registry, directory / "jobs", ENDS, self.clock, follows=False, capacity=2
        )
        self.supervisor.lead(1, lambda: self.leads)

    def next_server(self, command: tuple[str, ...] = ENDS) -> Supervisor:
        """Another one takes its place."""
        jobs = self.directory / "jobs"
        made = Supervisor(self.registry, jobs, command, self.clock, follows=False)
        made.lead(1, lambda: True)
        return made

    def submit(self, code: int = 0) -> str:
        return self.supervisor.submit(Submission("job.py", None, (str(code),))).id

    def ended(self, id: str) -> str:
        """How a job has ended, once its process has."""
        process = self.supervisor.process(id)
        assert process._child is not None
        process._child.wait()
        self.supervisor.look()
        job = self.registry.job(id)
        assert job is not None
        return job.status.name


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.registry.close()


def test_only_the_last_jobs_that_ended_are_remembered(scene: Scene) -> None:
    ids = []
    for _ in range(4):
        scene.clock.time += 1
        ids.append(scene.submit())
        assert scene.ended(ids[-1]) == "FINISHED"
    assert [job.id for job in scene.registry.jobs()] == ids[2:]
    assert all((scene.directory / "jobs" / id / "log.txt").exists() for id in ids)
    assert set(scene.supervisor._processes) == set(ids[2:])


def test_a_job_without_a_directory_is_refused_and_not_kept(scene: Scene) -> None:
    """Else it would begin later, though whoever submitted it was told that it does not."""
    (scene.directory / "jobs").write_text("in the way")
    with pytest.raises(CheckpointError):
        scene.submit()
    assert scene.registry.jobs() == []


def test_a_term_that_only_seemed_to_be_over_goes_on(scene: Scene) -> None:
    id = scene.submit()
    scene.supervisor.process(id)._child.wait()
    scene.leads = False  # its lease was renewed late, under the same token
    scene.supervisor.look()
    assert not scene.registry.job(id).is_over
    scene.leads = True
    assert scene.ended(id) == "FINISHED"


def test_a_term_that_the_registry_knows_to_be_over_ends(scene: Scene) -> None:
    id = scene.submit()
    scene.supervisor.process(id)._child.wait()
    SqlRegistry(f"sqlite:///{scene.directory}/registry.db").enter(2)
    scene.supervisor.look()
    with pytest.raises(LeadershipLostError):
        scene.submit()
    # and does not take the next one along
    scene.registry.enter(3)
    scene.supervisor.lead(3, lambda: True)
    assert scene.ended(id) == "FINISHED"


def test_a_restart_does_not_wait_for_a_clock_that_was_set_back(scene: Scene) -> None:
    id = scene.submit(1)
    _has_run(scene, id)
    assert scene.ended(id) == "RESTARTING"
    scene.clock.time -= 86_400_000
    scene.supervisor.look()
    assert len(scene.registry.attempts(id)) == 2


def test_a_job_that_has_run_before_is_restarted_when_its_program_fails(scene: Scene) -> None:
    """It may be the disk that is full: its strategy decides, and not one failed start."""
    id = scene.submit(1)
    _has_run(scene, id)
    assert scene.ended(id) == "RESTARTING"
    assert scene.registry.attempts(id)[0].outcome == "crashed: exit code 1"


def test_a_program_that_fails_at_once_has_failed(scene: Scene) -> None:
    assert scene.ended(scene.submit(1)) == "FAILED"


def test_a_program_that_is_terminated_as_it_starts_is_started_again(scene: Scene) -> None:
    """By a system that shuts down, for example: the program has no fault."""
    id = scene.submit(143)
    assert scene.ended(id) == "RESTARTING"
    assert scene.registry.attempts(id)[0].outcome == "crashed: signal 15, SIGTERM"


class _KilledError(Exception):
    """The server is killed there."""


def _kill(*args: object) -> None:
    raise _KilledError


@pytest.mark.parametrize("code", [0, 1])
def test_a_job_that_ended_as_its_server_was_killed_is_not_run_again(
    scene: Scene, monkeypatch, code: int
) -> None:
    id = scene.submit(code)
    with monkeypatch.context() as killed:
        killed.setattr(Supervisor, "_close_attempt", _kill)
        scene.ended(id)
    next_one = scene.next_server()
    next_one.look()
    assert scene.registry.job(id).status.name == ("FAILED" if code else "FINISHED")
    assert len(scene.registry.attempts(id)) == 1


def test_a_job_without_restarts_whose_server_was_killed_has_failed(
    scene: Scene, monkeypatch
) -> None:
    strategy = RestartStrategies.no_restart()
    monkeypatch.setattr("millrace.server.supervisor.strategy_of", lambda *_: strategy)
    id = scene.submit(1)
    _has_run(scene, id)
    with monkeypatch.context() as killed:
        killed.setattr(Supervisor, "_restart_later", _kill)
        scene.ended(id)
    scene.next_server().look()
    job = scene.registry.job(id)
    assert (job.status.name, len(scene.registry.attempts(id))) == ("FAILED", 1)
    assert "exit code 1" in job.error


def test_the_exit_code_is_that_of_one_process(tmp_path: Path) -> None:
    process = JobProcess(tmp_path / "job", ENDS)
    pid = process.start(Submission("job.py", None, ("3",)))
    process._child.wait()
    assert (process.exit_code(pid), process.exit_code(pid + 1)) == (3, None)


def test_a_kill_reaches_what_has_a_session_of_its_own(tmp_path: Path, eventually) -> None:
    """As the JVM has: it would end by itself, but not at once."""
    script = (
        "import subprocess, sys, time\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "child = subprocess.Popen(sleep, start_new_session=True)\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    process = JobProcess(tmp_path / "job", (sys.executable, "-c", script))
    process.start(Submission("job.py"))
    try:
        eventually(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        child = int((tmp_path / "child").read_text())
        assert child in descendants(process.pid())
    finally:
        process.signal(signal.SIGKILL)
    process._child.wait()
    eventually(lambda: not _runs(child))
    assert not process.is_alive()


def _runs(pid: int) -> bool:
    """Whether a process has not ended; who has ended may wait for its parent to hear of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_that_has_hardly_begun_has_no_id(tmp_path: Path) -> None:
    """That of the process before may be another program's by now."""
    process = JobProcess(tmp_path / "job", ENDS)
    process.start(Submission("job.py", None, ("0",)))
    process._child.wait()
    written = process._pid.read_text()
    assert int(written)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", lambda *args, **kwargs: _NotYet())
        process.start(Submission("job.py"))
    assert not process._pid.exists()


PRINTS = "import sys\nfor line in sys.stdin: print(line.strip() * 100, flush=True)\n"


def test_a_log_that_is_long_is_begun_anew(scene: Scene, monkeypatch) -> None:
    """The process goes on writing to it, and who follows it reads on from its beginning."""
    monkeypatch.setattr("millrace.server.job_process.LOG_BYTES", 100)
    process = JobProcess(scene.directory / "job")
    process.directory.mkdir()
    with process.log.open("ab") as output:
        job = subprocess.Popen(
            [sys.executable, "-c", PRINTS], stdin=subprocess.PIPE, stdout=output, text=True
        )
    for text in ("a", "b"):
        job.stdin.write(f"{text}\n")
        job.stdin.flush()
        while text not in process.log_tail():
            assert job.poll() is None
        process.rotate_log()
        assert process.log.read_text() == ""
        assert process.log.with_name("log.txt.1").read_text() == text * 100 + "\n"
    before = log_part(process.log, 101)
    job.communicate("c\n")
    after = log_part(process.log, before.next)
    assert after.text == "c" * 100 + "\n"
    process.log.write_text("short")
    process.rotate_log()
    assert process.log.read_text() == "short"


def test_a_log_that_fills_the_disk_is_begun_anew_all_the_same(scene: Scene, monkeypatch) -> None:
    monkeypatch.setattr("millrace.server.job_process.LOG_BYTES", 100)
    process = JobProcess(scene.directory / "job")
    process.directory.mkdir()
    process.log.write_text("x" * 200)

    def full(source: Path, target: Path) -> None:
        target.write_text("x")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    process.rotate_log()
    assert [path.name for path in process.directory.iterdir()] == ["log.txt"]
    assert process.log.read_text() == ""


def test_the_supervisor_looks_after_logs(scene: Scene, monkeypatch) -> None:
    rotated: list[Path] = []
    monkeypatch.setattr(JobProcess, "is_alive", lambda self: True)
    monkeypatch.setattr(JobProcess, "rotate_log", lambda self: rotated.append(self.log))
    id = scene.submit()
    scene.supervisor.process(id)._child.wait()
    scene.supervisor.look()
    assert rotated == [scene.directory / "jobs" / id / "log.txt"]


class _NotYet:
    """A process whose shell has not run."""

    pid = 1


def _has_run(scene: Scene, id: str) -> None:
    """A process before this one has left the record of a job."""
    place = scene.directory / "jobs" / id / "clicks-00000000"
    place.mkdir()
    (place / "job.json").write_bytes(msgspec.json.encode(gallery.record()))


NOTES = (
    sys.executable,
    "-c",
    "import sys; from millrace.engine.exit_note import PendingNote; note = PendingNote()\n"
    "open(sys.argv[-2], 'a').write('run '); note.code = int(sys.argv[-1])",
)
"""A program that says that it has run, and ends as ``millrace run`` does."""


class _Mortal:
    """Calls go through until the server is killed, just before or just after one of them."""

    def __init__(self, at: int, after: bool) -> None:
        self.left, self.after = at, after

    def around(self, call):
        def wrapped(*args, **kwargs):
            self.left -= 1
            if self.left == 0 and not self.after:
                raise _KilledError
            result = call(*args, **kwargs)
            if self.left == 0:
                raise _KilledError
            return result

        return wrapped


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 8))
def test_what_has_ended_with_0_is_not_run_again_wherever_the_server_is_killed(
    scene: Scene, tmp_path: Path, monkeypatch, at: int, after: bool
) -> None:
    """What the server writes, and the start of a process, are the points."""
    runs, mortal = tmp_path / "runs", _Mortal(at, after)
    monkeypatch.setattr(scene.supervisor, "_command", NOTES)
    with monkeypatch.context() as patch:
        patch.setattr(JobProcess, "start", mortal.around(JobProcess.start))
        for name in ("put_job", "put_attempt"):
            patch.setattr(scene.registry, name, mortal.around(getattr(scene.registry, name)))
        with suppress(_KilledError):
            id = scene.supervisor.submit(Submission("job.py", None, (str(runs), "0"))).id
            scene.ended(id)
    for job in scene.registry.jobs():
        process = scene.supervisor.process(job.id)
        if process._child is not None:
            process._child.wait()
        for _ in range(3):  # each of which is killed once it has looked
            following = scene.next_server(NOTES)
            following.look()
            scene.clock.time += 3_600_000  # what is to be started again is due
            following.look()
            if (child := following.process(job.id)._child) is not None:
                child.wait()
        assert scene.registry.job(job.id).status.name == "FINISHED"
        assert runs.read_text() == "run ", scene.registry.attempts(job.id)


def test_a_note_of_another_process_does_not_count(tmp_path: Path) -> None:
    """Such as that of the run before; nor does one that cannot be read."""
    process = JobProcess(tmp_path / "job", NOTES)
    process.start(Submission("job.py", None, (str(tmp_path / "runs"), "3")))
    assert process._child is not None
    pid = process._child.pid
    process._child.wait()
    note = process.exit_note()
    assert note is not None
    assert (note.pid, note.code) == (pid, 3)
    process._exit.write_text('{"pid": 1}')
    assert process.exit_note() is None
