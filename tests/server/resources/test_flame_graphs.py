"""Flame graphs: what workers have sampled, by vertex and subtask."""

from __future__ import annotations

import msgspec
import pytest
from gallery import FINISHED, NOW, RUNNING

from millrace.runtime.stack_samples import (
    SampledStack,
    SampledSubtask,
    WorkerSamples,
    read_request,
)
from millrace.runtime.watchdog import REPORTS
from millrace.server.observed_job import vertex_id
from millrace.server.resources.flame_graphs import flame_graph

FRAMES = ("outer (a.py:1)", "inner (a.py:2)", "wait (b.py:3)")
WORKER = WorkerSamples(
    "r1",
    "host-a:11",
    NOW / 1_000,
    250,
    FRAMES,
    (
        SampledSubtask("r1", 1, 0, (SampledStack((0, 1), 7, 0), SampledStack((0, 2), 1, 4))),
        SampledSubtask("r1", 1, 1, (SampledStack((0, 1), 2, 0),)),
        SampledSubtask("r1", 0, 0, (SampledStack((2,), 90, 0),)),
    ),
)
COUNT = f"/jobs/{RUNNING}/vertices/{vertex_id('count')}/flamegraph"


def plain(node) -> list:
    return [node.name.split(" ")[0], node.value, [plain(child) for child in node.children]]


@pytest.mark.parametrize(
    ("subtask", "kind", "tree"),
    [
        (None, "FULL", ["root", 14, [["outer", 14, [["inner", 9, []], ["wait", 5, []]]]]]),
        (1, "FULL", ["root", 2, [["outer", 2, [["inner", 2, []]]]]]),
        (0, "OFF_CPU", ["root", 4, [["outer", 4, [["wait", 4, []]]]]]),
        (0, "ON_CPU", ["root", 8, [["outer", 8, [["inner", 7, []], ["wait", 1, []]]]]]),
        (2, "FULL", ["root", 0, []]),
    ],
)
def test_stacks_are_joined_at_their_common_calls(subtask, kind, tree) -> None:
    graph = flame_graph([WORKER], 1, subtask, kind)
    assert (plain(graph.data), graph.ticks) == (tree, 250)


@pytest.fixture
def clock(job_server, monkeypatch) -> list[int]:
    """The server's time, which the test may change."""
    now = [NOW]
    monkeypatch.setattr(job_server, "now", lambda: now[0])
    return now


def test_the_first_request_begins_samples_and_later_ones_have_the_graph(
    api, job_server, clock
) -> None:
    reports = job_server.settings.jobs / RUNNING / "clicks-00000000" / REPORTS
    assert api.get(COUNT).json() == {"endTimestamp": -3}
    request = read_request(str(reports))
    assert request is not None
    assert request.until == NOW / 1_000 + 6
    told = msgspec.structs.replace(WORKER, id=request.id)
    (reports / "host-a-11.samples").write_bytes(msgspec.json.encode(told))
    assert api.get(COUNT).json() == {"endTimestamp": -3}  # a worker may still write
    clock[0] += 8_001
    graph = api.get(COUNT).json()
    assert (graph["endTimestamp"], graph["data"]["value"]) == (NOW + 6_000, 14)
    assert graph["data"]["children"][0]["name"] == FRAMES[0]
    assert api.get(f"{COUNT}?subtaskindex=1&type=ON_CPU").json()["data"]["value"] == 2
    assert read_request(str(reports)) == request
    assert api.get(f"{COUNT}?refresh=true").json() == {"endTimestamp": -3}
    newer = read_request(str(reports))
    assert newer is not None
    assert newer.id != request.id
    clock[0] += 80_000
    assert api.get(COUNT).json() == {"endTimestamp": -3}  # those samples are too old
    assert read_request(str(reports)) != newer


def test_a_job_that_has_ended_is_not_sampled(api) -> None:
    vertex = vertex_id("count")
    answer = api.get(f"/jobs/{FINISHED}/vertices/{vertex}/flamegraph")
    assert answer.json() == {"endTimestamp": -1}
    assert api.get(f"{COUNT}?type=HALF").status_code == 400
