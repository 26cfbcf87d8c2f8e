"""The endpoint of a running job: what is told of its state, and when."""

from __future__ import annotations

import json
import logging
import stat
import threading
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Configuration
from millrace.common.errors import ConfigurationError, StateError
from millrace.common.types.json_values import dumps
from millrace.datastream import StreamExecutionEnvironment
from millrace.rest import QueryableStateClient
from millrace.rest.address_file import NAME, find_address
from millrace.rest.endpoint import RestEndpoint
from millrace.state.state_follower import StateFollower
from millrace.state.table_id import TableId
from millrace.testing import run_local

STATE = "/jobs/MiniJob/state"


def ask(served: Any, path: str) -> tuple[int, Any]:
    """Status and body of ``GET path``."""
    address = served.endpoint.address
    connection = HTTPConnection(address.url.removeprefix("http://"), timeout=60)
    connection.request("GET", path, headers={"Authorization": f"Bearer {address.token}"})
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    if response.status == 503:
        assert response.getheader("Retry-After") == "1"
    return response.status, body


def test_a_key_of_the_last_checkpoint(served) -> None:
    served.push(("alice", 1), ("bob", 2), ("alice", 3))
    status, body = ask(served, f"{STATE}/remember/last-value/alice")
    assert status == 200
    assert (body["key"], body["value"], body["checkpoint"]) == ("alice", 3, 1)
    served.push(("alice", 4))
    assert ask(served, f"{STATE}/remember/last-value/alice")[1]["value"] == 4
    assert ask(served, f"{STATE}/remember/last-value/bob")[1]["value"] == 2


def test_every_kind_of_state_and_both_its_names(served) -> None:
    served.push(("a", 1), ("a", 2), ("a", 1))
    assert ask(served, f"{STATE}/remember/seen-values/a")[1]["value"] == [1, 2, 1]
    assert ask(served, f"{STATE}/remember/seen/a")[1]["value"] == [1, 2, 1]
    assert ask(served, f"{STATE}/remember/times/a")[1]["value"] == {"map": [[1, 2], [2, 1]]}


def test_what_was_cleared_is_gone(served) -> None:
    served.push(("a", 1), ("b", 1))
    served.push(("a", None))
    for name in ("last-value", "seen-values", "times"):
        status, body = ask(served, f"{STATE}/remember/{name}/a")
        assert (status, body["unknown"], body["keys"]) == (404, "key", 1), name


@pytest.mark.parametrize(
    ("path", "part", "known"),
    [
        ("/", "path", ["/jobs"]),
        ("/jobs/other", "job", None),
        ("/jobs/MiniJob/nothing", "path", ["/jobs/MiniJob/state"]),
        (f"{STATE}/a/b/c/d", "path", ["/jobs/MiniJob/state"]),
        (f"{STATE}/other/last-value/a", "operator", ["remember"]),
        (
            f"{STATE}/remember/private/a",
            "state",
            ["last-value", "seen-values", "times", "short-lived"],
        ),
        (f"{STATE}/remember/last-value/b", "key", ["a"]),
        (f"{STATE}/remember/last-value/", "key", ["a"]),
    ],
)
def test_404_says_what_is_unknown_and_what_there_is(served, path, part, known) -> None:
    served.push(("a", 1))
    status, body = ask(served, path)
    assert (status, body["unknown"]) == (404, part)
    assert part in body["error"]
    assert known is None or body["known"] == known


def test_keys_of_other_types(served) -> None:
    """One state may have keys of several."""
    keys: list[Any] = ["a/b?c&d#e", 7, ("eu", 3), None, 2.5, "", "ü"]
    served.push(*((key, number) for number, key in enumerate(keys)))
    for number, key in enumerate(keys):
        texts = [json.dumps(key)] if not isinstance(key, str) else [key, json.dumps(key)]
        for text in texts:
            status, body = ask(served, f"{STATE}/remember/last-value/{quote(text, safe='')}")
            assert (status, body["value"]) == (200, number), text


def test_whatever_is_asked_there_is_an_answer(served) -> None:
    """And it is JSON."""
    served.push(("a", 1), (("b", 2), 3), (b"c", 4))

    @settings(max_examples=60, deadline=None)
    @given(st.sampled_from(["", STATE, f"{STATE}/remember/last-value"]), st.text(max_size=30))
    def asked(start, rest) -> None:
        answer = served.endpoint._router.get(f"{start}/{rest}")
        assert answer.status in (200, 400, 404)
        assert json.loads(dumps(answer.body)) == answer.body

    asked()


def test_several_keys_of_one_checkpoint(served) -> None:
    served.push(("a", 1), ("b", 2))
    _, body = ask(served, f"{STATE}/remember/last-value?key=a&key=x&key=b")
    assert body["values"] == [
        {"key": "a", "found": True, "value": 1},
        {"key": "x", "found": False},
        {"key": "b", "found": True, "value": 2},
    ]
    assert body["checkpoint"] == 1
    many = "&".join(f"key={number}" for number in range(1001))
    assert ask(served, f"{STATE}/remember/last-value?{many}")[0] == 400


def test_what_has_expired_is_not_told(served) -> None:
    served.push(("a", 1))
    served.endpoint.view._clock = served.job.clock
    assert ask(served, f"{STATE}/remember/short-lived/a")[1]["value"] == 1
    served.job.clock.advance(10_000)
    assert ask(served, f"{STATE}/remember/short-lived/a")[0] == 404


def test_jobs_and_states_are_listed(served) -> None:
    served.push(("a", 1), ("b", 1))
    _, jobs = ask(served, "/jobs")
    (job,) = jobs["jobs"]
    assert (job["name"], job["status"]) == ("MiniJob", "RUNNING")
    _, details = ask(served, f"/jobs/{job['id']}")
    assert (details["checkpoint"], details["records"]) == (1, 2)
    _, states = ask(served, f"/jobs/{job['id']}/state/")
    assert states["checkpoint"] == 1
    assert states["states"][0] == {
        "operator": "remember", "uid": "remember", "name": "last-value", "state": "last",
        "kind": "value", "keys": 2,
    }  # fmt: skip
    assert len(ask(served, f"{STATE}/remember")[1]["states"]) == 4
    assert ask(served, f"{STATE}/remember/times")[1]["kind"] == "map"


def test_while_state_is_being_loaded_the_answer_is_503(served, monkeypatch) -> None:
    gate, load = threading.Event(), StateFollower.load

    def gated(self, manifest):
        gate.wait(30)
        load(self, manifest)

    monkeypatch.setattr(StateFollower, "load", gated)
    served.source.push(("a", 1))
    served.job.process()
    status, body = ask(served, f"{STATE}/remember/last-value/a")
    assert (status, "still being loaded" in body["error"]) == (503, True)
    assert ask(served, STATE)[1]["states"][0]["keys"] is None
    gate.set()
    served.wait()
    assert ask(served, f"{STATE}/remember/last-value/a")[0] == 200


def test_before_the_first_epoch_nothing_is_known(serve) -> None:
    with serve() as served:
        observers = served.job.env.build_client("MiniJob")._manager._observers
        (endpoint,) = (o for o in observers if isinstance(o, RestEndpoint))
        assert endpoint._router.get(STATE).status == 503
        assert endpoint._router.get("/jobs").body["jobs"][0]["status"] == "CREATED"


def test_after_a_restore_everything_is_there(serve) -> None:
    """Also of keys that the new run has not touched."""
    with serve() as first:
        first.push(("a", 1), ("b", 2))
        first.push(("a", 3))
    with serve(resume=True) as second:
        second.source.push(("a", 1), ("b", 2), ("a", 3))
        second.push(("c", 4))
        values = {k: ask(second, f"{STATE}/remember/last-value/{k}")[1]["value"] for k in "abc"}
        assert values == {"a": 3, "b": 2, "c": 4}
        assert ask(second, f"{STATE}/remember/seen-values/a")[1]["value"] == [1, 3]


def test_live_rescaling_changes_nothing_for_those_who_ask(served) -> None:
    keys = list(range(20))
    served.push(*((key, key) for key in keys))
    for parallelism in (3, 1):
        rescaled = served.job.client.rescale(parallelism)
        served.push((0, parallelism))
        served.push((1, 1))
        assert rescaled.done()
        path = f"{STATE}/remember/last-value"
        values = {key: ask(served, f"{path}/{key}")[1]["value"] for key in keys}
        assert values == {**{key: key for key in keys}, 0: parallelism}


def test_state_that_cannot_be_read_here_says_so(served, monkeypatch) -> None:
    """A class of values may be missing in the driver; the job goes on."""

    def fail(self, manifest):
        raise AttributeError("no class Click")

    with monkeypatch.context() as patch:
        patch.setattr(StateFollower, "load", fail)
        served.source.push(("a", 1))
        served.job.process()
        view = served.endpoint.view
        with view._changed:
            assert view._changed.wait_for(lambda: view._problems, 30)
        status, body = ask(served, f"{STATE}/remember/last-value/a")
        assert (status, "no class Click" in body["error"]) == (500, True)
    served.push(("b", 1))
    assert ask(served, f"{STATE}/remember/last-value/a")[1]["value"] == 1


def test_one_state_that_cannot_be_read_leaves_the_others(served, monkeypatch, caplog) -> None:
    """It is told which; once it can be read again it is there."""
    load = StateFollower.load

    def fail(self, manifest):
        if TableId("remember", "seen") in self._tables:
            raise AttributeError("no class Click")
        load(self, manifest)

    with monkeypatch.context() as patch:
        patch.setattr(StateFollower, "load", fail)
        served.push(("a", 1))
        served.push(("a", 2))
        assert ask(served, f"{STATE}/remember/last-value/a")[1]["value"] == 2
        status, body = ask(served, f"{STATE}/remember/seen/a")
        assert (status, "'seen-values' cannot be read: no class" in body["error"]) == (500, True)
        states = {state["state"]: state for state in ask(served, STATE)[1]["states"]}
        assert (states["last"]["keys"], "problem" in states["last"]) == (1, False)
        assert (states["seen"]["keys"], "no class" in states["seen"]["problem"]) == (None, True)
        job_dir = served.job.client.get_job_directory()
        assert QueryableStateClient.of_job(job_dir, wait=1).get("remember", "last", "a") == 2
    served.push(("a", 3))
    assert ask(served, f"{STATE}/remember/seen/a")[1]["value"] == [1, 2, 3]
    assert caplog.text.count("cannot be read") == 1


def test_the_token_is_in_a_file_that_only_the_owner_can_read(serve, tmp_path, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    with serve(**{"rest.token": ""}) as served:
        served.push(("a", 1))
        (file,) = (tmp_path / "checkpoints").glob(f"*/{NAME}")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        address = find_address(tmp_path / "checkpoints", "MiniJob")
        assert address == served.endpoint.address
        assert len(address.token) > 40
        ask(served, STATE)
        assert address.token not in caplog.text
        assert address.token not in repr(address)
    assert not file.exists()
    with pytest.raises(StateError, match=r"the job does not run, or not with rest.enabled=true"):
        find_address(tmp_path / "checkpoints", "MiniJob")


def test_each_run_has_a_token_of_its_own(serve) -> None:
    tokens = set()
    for _ in range(2):
        with serve(**{"rest.token": ""}) as served:
            served.push(("a", 1))
            tokens.add(served.endpoint.address.token)
    assert len(tokens) == 2


def test_after_the_job_nobody_answers(serve) -> None:
    with serve() as served:
        served.push(("a", 1))
        assert ask(served, "/jobs")[0] == 200
        endpoint = served.endpoint
    with pytest.raises(ConnectionError):
        HTTPConnection(endpoint.address.url.removeprefix("http://"), timeout=2).connect()


def _run(**settings: str) -> None:
    with run_local():
        configuration = Configuration({"rest.enabled": "true", **settings})
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.from_collection([1]).print()
        env.execute()


def test_a_port_in_use_is_named(served) -> None:
    served.push(("a", 1))
    port = served.endpoint.address.url.rpartition(":")[2]
    with pytest.raises(ConfigurationError, match=f"cannot be opened at 127.0.0.1:{port}"):
        _run(**{"rest.port": port})


def test_settings_that_cannot_be_used(caplog) -> None:
    with pytest.raises(ConfigurationError, match=r"rest.token must be ASCII"):
        _run(**{"rest.token": "two words"})
    with pytest.raises(ConfigurationError, match=r"cannot be opened at 127.0.0.1:70000"):
        _run(**{"rest.port": "70000"})
    _run(**{"rest.bind-address": "0.0.0.0"})
    assert "nothing is encrypted" in caplog.text


def test_it_is_off_unless_asked_for(tmp_path) -> None:
    with run_local(checkpoint_dir=str(tmp_path)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).print()
        observers = env.build_client("quiet")._manager._observers
        assert not any(isinstance(observer, RestEndpoint) for observer in observers)


def test_the_state_backend_makes_no_difference(serve) -> None:
    """What it keeps on disk reaches the view as any other state does: in deltas."""
    pytest.importorskip("rocksdict")
    with serve(**{"state.backend.type": "rocksdb"}) as served:
        served.push(("a", 1), ("b", 2))
        served.push(("a", 3), ("b", None))
        assert ask(served, f"{STATE}/remember/seen-values/a")[1]["value"] == [1, 3]
        assert ask(served, f"{STATE}/remember/times/b")[0] == 404


def test_without_its_packages_it_says_what_to_install(serve, monkeypatch) -> None:
    monkeypatch.setattr("millrace.rest.endpoint.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'millrace\[rest\]'"), serve() as job:
        job.push(("a", 1))
