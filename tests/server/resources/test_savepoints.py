"""The tree of savepoints and what changed between two, with savepoints of a real job."""

from __future__ import annotations

import json
from pathlib import Path

import gallery
import pytest
from starlette.testclient import TestClient

from millrace.datastream import KeyedProcessFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.server.application import create_application
from millrace.server.registry import TriggeredOperation
from millrace.testing import MiniJob


class Count(KeyedProcessFunction):
    """Counts per key."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value


@pytest.fixture
def savepoints(tmp_path: Path) -> list[str]:
    """Two of a job of the server, of which the second is not in its directory of savepoints."""
    jobs = tmp_path / "jobs" / gallery.RUNNING
    with MiniJob(1, checkpoint_dir=str(jobs)) as job:
        source = job.source()
        counted = source.stream.key_by(lambda word: word).process(Count())
        job.collect(counted.name("count").uid("count"))
        paths = []
        for words, place in ((["a", "b"], "savepoints"), (["a", "c"], "elsewhere")):
            source.push(*words)
            job.process()
            taken = job.client.trigger_savepoint(str(tmp_path / place))
            job.process()
            paths.append(str(taken.result()))
    return paths


def test_tree_and_comparison(tmp_path, savepoints) -> None:
    server = gallery.server_of(tmp_path, jobs_are_written=False)
    first, second = savepoints
    result = json.dumps({"savepoint": second})
    server.registry.put_trigger(
        TriggeredOperation("d" * 32, gallery.RUNNING, "savepoint", 0, result=result)
    )
    api = TestClient(create_application(server, gallery.NO_TOKENS), gallery.LOCAL)
    tree = {node["path"]: node for node in api.get("/savepoints").json()["savepoints"]}
    assert {first, second} <= tree.keys()
    assert tree[second]["parent"] == tree[first]["id"]
    assert tree[first]["kind"] == "savepoint"
    assert {"uid": "count", "name": "count"} in tree[first]["operators"]
    assert tree[first]["size"] > 0
    (checkpoint,) = (node for node in tree.values() if node["kind"] == "checkpoint")
    assert checkpoint["parent"] in (tree[first]["id"], tree[second]["id"])
    diffs = api.get(f"/savepoints/compare?left={first}&right={second}").json()
    (diff,) = (each for each in diffs if each["state"] == "count")
    assert (diff["uid"], diff["added"], diff["changed"], diff["removed"]) == ("count", 1, 1, 0)
    assert api.get(f"/savepoints/compare?left={first}&right=/etc").status_code == 404
    assert api.get(f"/savepoints/compare?left={first}").status_code == 400
    server.registry.close()
