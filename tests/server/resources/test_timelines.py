"""The life of a job, as a list of events."""

from __future__ import annotations

from gallery import BEGUN, NEW, NOW, RUNNING

from millrace.server.registry import TriggeredOperation


def test_everything_that_happened_in_order(api, job_server) -> None:
    job_server.registry.put_trigger(
        TriggeredOperation(
            "a" * 32, RUNNING, "savepoint", BEGUN + 85_000, result='{"savepoint": "/sp/one"}'
        )
    )
    answer = api.get(f"/jobs/{RUNNING}/timeline").json()
    assert answer["end"] == NOW
    events = answer["events"]
    assert [each["time"] for each in events] == sorted(each["time"] for each in events)
    kinds = {kind: [e for e in events if e["kind"] == kind] for kind in {e["kind"] for e in events}}
    assert set(kinds) == {"run", "restore", "checkpoint", "savepoint", "failure", "rescale"}
    assert [(each["title"], each["status"]) for each in kinds["checkpoint"]] == [
        ("Checkpoint 2", "COMPLETED"),
        ("Checkpoint", "FAILED"),
        ("Checkpoint 3", "COMPLETED"),
    ]
    assert kinds["checkpoint"][1]["detail"] == "disk full"
    assert kinds["checkpoint"][2]["end"] == BEGUN + 90_040
    [savepoint] = kinds["savepoint"]
    assert (savepoint["title"], savepoint["detail"]) == ("Savepoint", "/sp/one")
    assert [each["status"] for each in kinds["rescale"]] == [
        "COMPLETED", "COMPLETED", "FAILED", "IN_PROGRESS",
    ]  # fmt: skip
    assert "ValueError: no number" in [each["detail"] for each in kinds["failure"]]
    assert kinds["run"][-1]["status"] == "IN_PROGRESS"


def test_a_job_that_has_not_begun(api) -> None:
    assert api.get(f"/jobs/{NEW}/timeline").json()["events"] == []
