"""The parallelism of vertices, as it is read and asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gallery import FAILED, NEW, RUNNING

from millrace.engine.control_mailbox import Mailbox, RunNote
from millrace.server.api_route import ApiError
from millrace.server.observed_job import vertex_id
from millrace.server.resources.resource_requirements import (
    ParallelismBounds,
    VertexRequirements,
    wanted_parallelism,
)

SOURCE, COUNT = vertex_id("source"), vertex_id("count")
"""Vertices of parallelism 2 and 1."""
PATH = f"/jobs/{RUNNING}/resource-requirements"


@pytest.fixture
def mailbox(job_server):
    place = next((job_server.settings.jobs / RUNNING).glob("clicks-*"))
    box = Mailbox(place)
    with box.open_for(RunNote("r1", "clicks", place.name, "host", 1, 0)):
        yield box


def asking(source: object, count: object, lower: int = 1) -> dict[str, object]:
    return {
        id: {"parallelism": {"lowerBound": lower, "upperBound": upper}}
        for id, upper in ((SOURCE, source), (COUNT, count))
    }


def test_what_there_is_can_be_put_back(api, mailbox) -> None:
    found = api.get(PATH).json()
    assert found == asking(2, 1)
    told = api.put(PATH, json=found)
    assert (told.status_code, told.json()) == (200, {})
    assert mailbox.requests() == []


def test_another_one_rescales_the_job(api, mailbox) -> None:
    told = api.put(PATH, json=asking(4, 1))
    assert (told.status_code, told.json()) == (200, {})
    (request,) = mailbox.requests()
    assert (request.command, request.arguments) == ("rescale", {"parallelism": 4})
    assert api.get(told.headers["location"]).json()["status"] == {"id": "IN_PROGRESS"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (asking(0, 1), "lowerBound|>= 1"),
        (asking(2, 1, lower=2), "above its upperBound"),
        (asking(4, 3), "together"),
        ({}, "are missing"),
        ({**asking(2, 1), "f" * 32: asking(1, 1)[COUNT]}, "has no vertex"),
        ([], "not have the expected form"),
    ],
    ids=["no parallelism", "bounds", "two at once", "nothing", "unknown vertex", "no object"],
)
def test_what_cannot_be(api, mailbox, body, reason) -> None:
    told = api.put(PATH, json=body)
    assert told.status_code == 400
    assert any(each in told.json()["errors"][0] for each in reason.split("|"))
    assert mailbox.requests() == []


def test_vertices_of_the_same_parallelism_change_together(api, job_server, mailbox) -> None:
    job = job_server._observed.observe(job_server.registry.job(RUNNING))
    two = replace(job.vertices[1], details=replace(job.vertices[1].details, subtasks=()))
    object.__setattr__(job, "vertices", (job.vertices[0], replace(two, parallelism=2)))

    def wanted(source: int, count: int) -> int | None:
        bounds = {SOURCE: source, COUNT: count}
        asked = {id: VertexRequirements(ParallelismBounds(1, n)) for id, n in bounds.items()}
        return wanted_parallelism(job, asked)

    assert wanted(4, 4) == 4
    with pytest.raises(ApiError, match="only be rescaled together"):
        wanted(4, 2)


def test_of_jobs_that_do_not_run(api) -> None:
    assert api.get(f"/jobs/{NEW}/resource-requirements").status_code == 409
    assert api.put(f"/jobs/{FAILED}/resource-requirements", json={}).status_code == 409
