"""One owner at a time; who was superseded cannot commit."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from millrace.common.errors import CheckpointError, LeaseError, LeaseLostError
from millrace.engine.lease import Lease
from millrace.engine.process_identity import process_space

HOLD = """
import sys
from millrace.engine.lease import Lease
lease = Lease.acquire(sys.argv[1], "other")
print("held", flush=True)
sys.stdin.read()
"""


def record(job_dir: Path) -> dict[str, object]:
    content = json.loads((job_dir / "lease.json").read_text())
    assert isinstance(content, dict)
    return content


def test_the_owner_is_on_record(tmp_path: Path) -> None:
    """With a token that grows from owner to owner."""
    job_dir = tmp_path / "deep" / "job"
    for token in (1, 2, 3):
        lease = Lease.acquire(job_dir, f"run-{token}", now=token)
        assert record(job_dir) == {
            "token": token,
            "run_id": f"run-{token}",
            "host": socket.gethostname(),
            "space": process_space(),
            "pid": os.getpid(),
            "since": token,
            "until": 0,
            "fencing": 0,
            "former": [f"run-{before}" for before in range(1, token)],
        }
        lease.release()


def test_a_second_owner_is_refused(tmp_path: Path) -> None:
    """It hears whose the directory is, and what to do."""
    first = Lease.acquire(tmp_path, "run-1")
    with pytest.raises(LeaseError) as caught:
        Lease.acquire(tmp_path, "run-2")
    message = str(caught.value)
    for part in ("run-1", socket.gethostname(), str(os.getpid()), "stop that run first"):
        assert part in message
    with first.guard():
        pass
    assert record(tmp_path)["token"] == 1


def test_another_process_is_refused_until_the_owner_dies(tmp_path: Path) -> None:
    """kill -9 gives the lease back at once."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(LeaseError, match=f"process {owner.pid}"):
            Lease.acquire(tmp_path, "mine")
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        lease = Lease.acquire(tmp_path, "mine")
    assert record(tmp_path)["token"] == 2
    lease.verify()


def test_an_owner_whose_lock_was_removed_is_fenced(tmp_path: Path) -> None:
    """It learns it before it can commit, and who owns the job now."""
    zombie = Lease.acquire(tmp_path, "run-1")
    (tmp_path / "lease.lock").unlink()
    owner = Lease.acquire(tmp_path, "run-2")
    with pytest.raises(LeaseLostError, match="taken over by run run-2"):
        zombie.verify()
    entered = False
    with pytest.raises(LeaseLostError), zombie.guard():
        entered = True
    assert not entered
    with owner.guard():
        pass
    zombie.release()
    owner.verify()
    with pytest.raises(LeaseError, match="run-2"):
        Lease.acquire(tmp_path, "run-3")


def test_a_new_owner_waits_for_a_commit_under_way(tmp_path: Path) -> None:
    first = Lease.acquire(tmp_path, "run-1")
    successors: list[Lease] = []
    waiting = threading.Thread(target=lambda: successors.append(Lease.acquire(tmp_path, "run-2")))
    with first.guard():
        (tmp_path / "lease.lock").unlink()
        waiting.start()
        waiting.join(0.2)
        assert not successors
    waiting.join(20)
    successors[0].verify()


def test_a_replaced_lock_file_is_a_lost_lease(tmp_path: Path) -> None:
    """For somebody else may hold the new one."""
    lease = Lease.acquire(tmp_path, "run-1")
    (tmp_path / "lease.lock").unlink()
    with pytest.raises(LeaseLostError, match=r"lease\.lock was replaced or deleted"):
        lease.verify()
    (tmp_path / "lease.lock").touch()
    with pytest.raises(LeaseLostError):
        lease.verify()


def test_a_deleted_directory_or_record(tmp_path: Path) -> None:
    """Without a record nothing may be committed."""
    lease = Lease.acquire(tmp_path / "job", "run-1")
    (tmp_path / "job" / "lease.json").unlink()
    with pytest.raises(LeaseLostError, match=r"lease\.json is gone"):
        lease.verify()
    for path in (tmp_path / "job").iterdir():
        path.unlink()
    (tmp_path / "job").rmdir()
    with pytest.raises(LeaseLostError), lease.guard():
        pass
    assert not (tmp_path / "job").exists()


def test_a_damaged_record(tmp_path: Path) -> None:
    """The token is unknown then: a person must decide."""
    Lease.acquire(tmp_path, "run-1").release()
    (tmp_path / "lease.json").write_text("{")
    with pytest.raises(LeaseError, match=r"lease\.json is damaged .* delete the file"):
        Lease.acquire(tmp_path, "run-2")
    (tmp_path / "lease.json").unlink()
    Lease.acquire(tmp_path, "run-2").verify()


def test_after_release(tmp_path: Path) -> None:
    """Twice is once, and nothing can be committed any more."""
    lease = Lease.acquire(tmp_path, "run-1")
    lease.release()
    lease.release()
    with pytest.raises(LeaseLostError, match="released"):
        lease.verify()
    with pytest.raises(LeaseLostError), lease.guard():
        pass


def test_the_guard_is_reentrant(tmp_path: Path) -> None:
    """A checkpoint may be published while sinks are committed."""
    lease = Lease.acquire(tmp_path, "run-1")
    with lease.guard(), lease.guard():
        pass
    with lease.guard():
        pass


def test_the_guard_keeps_other_threads_out(tmp_path: Path) -> None:
    """Threads of one process share the lock, so it has one of its own for them."""
    lease = Lease.acquire(tmp_path, "run-1")
    steps: list[str] = []

    def commit() -> None:
        with lease.guard():
            steps.append("other")

    thread = threading.Thread(target=commit)
    with lease.guard():
        thread.start()
        thread.join(0.05)
        steps.append("first")
    thread.join()
    assert steps == ["first", "other"]


def test_former_runs_are_remembered(tmp_path: Path) -> None:
    """The last hundred of them, for what they left behind."""
    for number in range(105):
        lease = Lease.acquire(tmp_path, f"run-{number}")
        lease.release()
    assert lease.owner.former == tuple(f"run-{number}" for number in range(4, 104))


def test_nobody_else_can_hold_the_locks(tmp_path: Path) -> None:
    """Also where an earlier version left them readable, and so lockable, for everybody."""
    made, found = tmp_path / "made", tmp_path / "found"
    found.mkdir(mode=0o755)
    for name in ("lease.lock", "commit.lock"):
        (found / name).touch()
        (found / name).chmod(0o644)
    for job_dir in (made, found):
        lease = Lease.acquire(job_dir, "run-1")
        with lease.guard():
            modes = {(job_dir / n).stat().st_mode & 0o777 for n in ("lease.lock", "commit.lock")}
        lease.release()
        assert modes == {0o600}
    assert made.stat().st_mode & 0o777 == 0o700
    assert found.stat().st_mode & 0o777 == 0o755


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"cannot use its directory .*: Not a directory\. Na"):
        Lease.acquire(tmp_path / "file" / "job", "run")
