"""Queryable state of a job through the server."""

from __future__ import annotations

from pathlib import Path

import gallery
from gallery import FINISHED, NEW, RUNNING
from starlette.testclient import TestClient

from millrace.common import Configuration
from millrace.datastream import KeyedProcessFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.rest.endpoint import RestEndpoint
from millrace.server.application import create_application
from millrace.testing import MiniJob


class Last(KeyedProcessFunction):
    """Remembers the last value of each key."""

    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("last")
        descriptor.set_queryable("last-value")
        self.last = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        self.last.update(value[1])


def test_a_key_with_a_slash(tmp_path: Path) -> None:
    server = gallery.server_of(tmp_path, jobs_are_written=False)
    api = TestClient(create_application(server, gallery.NO_TOKENS), gallery.LOCAL)
    assert api.get(f"/jobs/{NEW}/state").status_code == 409
    configuration = Configuration({"rest.enabled": "true"})
    jobs = str(server.settings.jobs / RUNNING)
    with MiniJob(1, configuration=configuration, checkpoint_dir=jobs) as job:
        source = job.source()
        job.collect(source.stream.key_by(lambda pair: pair[0]).process(Last()).uid("last"))
        source.push(("a/b", 7), ("c", 8))
        job.process()
        observers = job.client._manager._observers
        (endpoint,) = (each for each in observers if isinstance(each, RestEndpoint))
        assert endpoint.view.wait_for(job.client.progress().checkpoint, timeout=180)
        states = api.get(f"/v1/jobs/{RUNNING}/state").json()["states"]
        assert [state["name"] for state in states] == ["last-value"]
        found = api.get(f"/jobs/{RUNNING}/state/last/last-value/a%2Fb").json()
        assert (found["key"], found["value"]) == ("a/b", 7)
        several = api.get(f"/jobs/{RUNNING}/state/last/last-value?key=c&key=none").json()
        assert [each["found"] for each in several["values"]] == [True, False]
        missing = api.get(f"/jobs/{RUNNING}/state/last/last-value/none")
        assert (missing.status_code, missing.json()["unknown"]) == (404, "key")
        assert missing.json()["errors"] == [missing.json()["error"]]
    assert api.get(f"/jobs/{RUNNING}/state").status_code == 404
    assert api.get(f"/jobs/{FINISHED}/state").status_code == 409
    server.registry.close()
