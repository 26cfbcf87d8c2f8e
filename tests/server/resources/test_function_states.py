"""States of an address of functions, from the server and on the command line."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gallery
import pytest
from gallery import NEW, RUNNING
from starlette.testclient import TestClient

from millrace.cli.main import main
from millrace.common import Configuration
from millrace.rest.endpoint import RestEndpoint
from millrace.rest.http_server import HttpServer
from millrace.server.application import create_application
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.types import INT, typed
from millrace.testing import MiniJob

statefun = pytest.importorskip("statefun")
OWN = {"state": "own", "typename": "test/own", "value": '{"id": "a/ü"}'}
SEEN = {"state": "seen", "typename": INT, "value": "2"}


def add_functions(job: MiniJob) -> Any:
    """Functions that count the messages of an id; the source of the ids."""
    functions = statefun.StatefulFunctions()
    own = statefun.simple_type("test/own", bytes, bytes)

    @functions.bind(
        "test/counter",
        [statefun.ValueSpec("seen", statefun.IntType), statefun.ValueSpec("own", own)],
    )
    def counter(context: Any, message: Any) -> None:
        context.storage.seen = (context.storage.seen or 0) + 1
        content = json.dumps({"id": context.address.id}, ensure_ascii=False)
        context.storage.own = content.encode()

    ids = job.source()
    messages = ids.stream.map(lambda id: routable_message("test/counter", id, typed(INT, 1)))
    builder = StatefulFunctionDataStreamBuilder.builder("counters").with_egress_id("test/out")
    builder.with_data_stream_as_ingress(messages).with_function_provider("test/*", functions)
    job.collect(builder.build(job.env).get_data_stream_for_egress_id("test/out"))
    return ids


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Any]:
    """A server of a job that has counted, and that waits."""
    server = gallery.server_of(tmp_path, jobs_are_written=False)
    configuration = Configuration({"rest.enabled": "true"})
    jobs = str(server.settings.jobs / RUNNING)
    with MiniJob(1, configuration=configuration, checkpoint_dir=jobs) as job:
        add_functions(job).push("a/ü", "b", "a/ü")
        job.process()
        observers = job.client._manager._observers
        (endpoint,) = (each for each in observers if isinstance(each, RestEndpoint))
        assert endpoint.view.wait_for(job.client.progress().checkpoint, timeout=180)
        yield create_application(server, gallery.NO_TOKENS)
    server.registry.close()


def test_states_are_looked_up_by_type_id_and_name(application: Any) -> None:
    api = TestClient(application, gallery.LOCAL)

    def get(below: str, job: str = RUNNING, functions: str = "counters") -> Any:
        return api.get(f"/v1/jobs/{job}/functions/{below}", params={"functions": functions})

    answer = get("test/counter/a%2F%C3%BC").json()
    assert (answer["function"], answer["id"]) == ("test/counter", "a/ü")
    assert answer["checkpoint"] > 0
    assert [{k: v for k, v in state.items() if k != "bytes"} for state in answer["states"]] == [
        *(OWN, SEEN)
    ]
    assert base64.b64decode(answer["states"][0]["bytes"]).decode() == OWN["value"]
    (seen,) = get("test/counter/b/seen").json()["states"]
    assert (seen["state"], seen["value"]) == ("seen", "1")
    assert get("test/counter/nobody").json()["states"] == []
    assert get("test/other/b").json()["states"] == []
    refused = {
        ("test/counter/b/none", "counters"): "test/counter/b has no state 'none', only: own, seen",
        ("test/counter", "counters"): "the path below 'functions' is NAMESPACE/NAME/ID or",
        ("test/counter/b/seen/more", "counters"): "the path below 'functions' is",
        ("/counter/b", "counters"): "'/counter' is not a type name",
        ("test/counter/b", "other"): "there is no operator 'statefun-other'",
        ("test/counter/b", ""): "there is no operator 'statefun-module'",
    }
    for (below, functions), error in refused.items():
        answer = get(below, functions=functions)
        assert answer.status_code == 404
        assert error in answer.json()["errors"][0]
    assert get("test/counter/b", NEW).status_code == 409


def test_states_are_shown_by_a_command(
    application: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    http = HttpServer(application, "127.0.0.1", 0)
    http.start()
    url = f"http://127.0.0.1:{http.port}"
    command = ["statefun", "state", "--server", url, RUNNING, "test/counter"]
    try:
        assert main([*command, "a/ü", "--functions", "counters", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == [OWN, SEEN]
        assert main([*command, "nobody", "--functions", "counters"]) == 0
        assert capsys.readouterr().out == ""
        assert main([*command, "b", "--functions", "counters"]) == 0
        assert capsys.readouterr().out.splitlines()[1].split() == ["seen", INT, "1"]
        assert main([*command, "b"]) == 1
        assert "there is no operator 'statefun-module'" in capsys.readouterr().err
    finally:
        http.close()
