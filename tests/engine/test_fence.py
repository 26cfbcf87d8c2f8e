"""Who was started under a token below the fence publishes nothing, wherever it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import LeaseError, LeaseLostError
from millrace.engine.fence import Fence, own_fence, own_fencing_token
from millrace.engine.lease import LIFETIME, Lease


@pytest.fixture(params=["local", "object store"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where locks reach, and where there are none."""
    if request.param == "local":
        return str(tmp_path)
    request.getfixturevalue("object_store")
    return "memory://bucket/jobs"


def test_a_fence_only_grows(base: str) -> None:
    fence = Fence(base)
    assert fence.token() == 0
    fence.raise_to(3)
    fence.raise_to(3)
    fence.raise_to(5)
    with pytest.raises(LeaseLostError, match="fencing token 5: a newer leader"):
        Fence(base).raise_to(4)
    assert Fence(base).token() == 5


def test_a_damaged_fence(tmp_path: Path) -> None:
    (tmp_path / "fence.json").write_text("{")
    with pytest.raises(LeaseError, match=r"fence\.json is damaged .* delete the file"):
        Fence(tmp_path).token()


def test_a_run_below_the_fence_commits_nothing(base: str) -> None:
    """From the moment on that its successor may be started, even where records are trusted."""
    lease = Lease.acquire(f"{base}/job", "run-1", fencing=3)
    Fence(base).raise_to(3)
    with lease.guard():
        pass
    Fence(base).raise_to(4)
    entered = False
    with pytest.raises(LeaseLostError, match="fencing token 4; .* started under 3"), lease.guard():
        entered = True
    assert not entered


def test_the_fence_of_a_job_whose_checkpoints_are_elsewhere(base: str, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept by the server")
    lease = Lease.acquire(f"{base}/job", "run-1", fencing=3, fence=kept)
    Fence(base).raise_to(9)  # nobody's who has anything to do with the job
    with lease.guard():
        pass
    Fence(kept).raise_to(4)
    with pytest.raises(LeaseLostError, match="fencing token 4"), lease.guard():
        pass
    with pytest.raises(LeaseLostError, match="fencing token 4"):
        Lease.acquire(f"{base}/other", "run-2", fencing=3, fence=kept)


def test_a_newer_leader_takes_the_lease_of_a_run_that_lives(base: str) -> None:
    clock = [1_000_000]
    first = Lease.acquire(f"{base}/job", "run-1", clock=lambda: clock[0], fencing=3)
    with pytest.raises(LeaseError, match="run-1"):
        Lease.acquire(f"{base}/job", "run-2", clock=lambda: clock[0])
    with pytest.raises(LeaseError, match="run-1"):
        Lease.acquire(f"{base}/job", "run-2", clock=lambda: clock[0], fencing=3)
    second = Lease.acquire(f"{base}/job", "run-2", clock=lambda: clock[0], fencing=4)
    with pytest.raises(LeaseLostError, match="taken over by run run-2"):
        first.verify()
    with second.guard():
        pass
    first.release()
    second.verify()
    second.release()


def test_a_process_that_was_started_too_late(base: str) -> None:
    """The newer leader's run may have ended by then."""
    Lease.acquire(f"{base}/job", "run-2", fencing=4).release()
    with pytest.raises(LeaseLostError, match="newer leader"):
        Lease.acquire(f"{base}/job", "run-1", fencing=3)
    Fence(base).raise_to(5)
    with pytest.raises(LeaseLostError, match="fencing token 5"):
        Lease.acquire(f"{base}/job", "run-1", fencing=4)


def test_a_run_that_no_server_started_is_not_fenced_off(base: str) -> None:
    """Whoever runs it by hand means it; a server does not take it away from them."""
    Fence(base).raise_to(9)
    lease = Lease.acquire(f"{base}/job", "run-1")
    with lease.guard():
        pass
    with pytest.raises(LeaseError, match="run-1"):
        Lease.acquire(f"{base}/job", "run-2", fencing=10)
    lease.release()


def test_a_lease_of_a_server_is_renewed_where_there_are_no_locks(object_store: object) -> None:
    clock = [1_000_000]
    lease = Lease.acquire("memory://bucket/jobs/job", "run", clock=lambda: clock[0], fencing=1)
    clock[0] += LIFETIME // 2
    assert lease._renew()
    clock[0] += LIFETIME // 2 + 1
    lease.verify()
    lease.release()


def test_the_token_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLRACE_FENCING_TOKEN", raising=False)
    assert own_fencing_token() is None
    monkeypatch.setenv("MILLRACE_FENCING_TOKEN", "12")
    assert own_fencing_token() == 12


def test_where_the_server_keeps_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLRACE_FENCE", raising=False)
    assert own_fence() is None
    monkeypatch.setenv("MILLRACE_FENCE", "/shared/jobs/1")
    assert own_fence() == "/shared/jobs/1"
