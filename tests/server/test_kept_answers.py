"""Answers that are given again to who asks for the same."""

from __future__ import annotations

from dataclasses import replace

import gallery
from starlette.responses import Response
from starlette.testclient import TestClient

from millrace.common.job import JobStatus
from millrace.server.access_tokens import AccessTokens
from millrace.server.api_route import AccessRole, ApiRequest, ApiRoute
from millrace.server.application import create_application
from millrace.server.kept_answers import MOST_BYTES, AnswerKey, KeptAnswers

TOKENS = AccessTokens(read="r" * 20, operate="o" * 20)
READ = {"Authorization": f"Bearer {TOKENS.read}"}
OPERATE = {"Authorization": f"Bearer {TOKENS.operate}"}
KEY = AnswerKey(b"/jobs", b"", AccessRole.READ)


class Moments:
    """A clock and a registry that tests move."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.changes = 0

    def kept(self, seconds: float = 0.5) -> KeptAnswers:
        return KeptAnswers(lambda: self.changes, seconds, lambda: self.seconds)


def test_an_answer_is_kept_until_its_time_is_over() -> None:
    moments = Moments()
    kept = moments.kept()
    answer = Response(b"{}")
    kept.keep(KEY, answer, kept.began())
    assert kept.find(KEY) is answer
    assert kept.find(replace(KEY, query=b"get=x")) is None
    assert kept.find(replace(KEY, role=AccessRole.OPERATE)) is None
    moments.seconds += 0.5
    assert kept.find(KEY) is None


def test_a_change_of_the_registry_ends_all_of_them() -> None:
    moments = Moments()
    kept = moments.kept()
    kept.keep(KEY, Response(b"{}"), kept.began())
    moments.changes += 1
    assert kept.find(KEY) is None


def test_what_was_worked_out_before_a_change_is_not_kept() -> None:
    moments = Moments()
    kept = moments.kept()
    began = kept.began()
    moments.changes += 1
    kept.keep(KEY, Response(b"{}"), began)
    assert kept.find(KEY) is None


def test_failures_and_large_answers_are_not_kept() -> None:
    kept = Moments().kept()
    kept.keep(KEY, Response(b"{}", 404), kept.began())
    kept.keep(KEY, Response(b" " * (MOST_BYTES + 1)), kept.began())
    assert kept.find(KEY) is None


def test_nothing_is_kept_unless_asked_for() -> None:
    kept = Moments().kept(seconds=0)
    kept.keep(KEY, Response(b"{}"), kept.began())
    assert kept.find(KEY) is None


def test_only_routes_that_say_so_are_answered_from_what_is_kept(job_server) -> None:
    asked: list[str] = []

    def answer(server, request: ApiRequest) -> int:
        asked.append(request.role.name)
        return len(asked)

    routes = [
        ApiRoute("GET", "/kept", answer, "Kept.", int, is_kept=True),
        ApiRoute("GET", "/fresh", answer, "Fresh.", int),
    ]
    api = TestClient(create_application(job_server, TOKENS, routes, kept_seconds=600))

    def answers(path: str, headers: dict[str, str]) -> list[int]:
        return [api.get(path, headers=headers).json() for _ in range(2)]

    assert answers("/kept", READ) == [1, 1]
    assert answers("/kept", OPERATE) == [2, 2]
    assert answers("/fresh", READ) == [3, 4]
    assert api.get("/kept").status_code == 401
    kept = api.get("/kept", headers=READ)
    assert kept.headers["cache-control"] == "no-store"
    assert api.head("/kept", headers=READ).status_code == 200


def test_what_the_server_changes_is_seen_at_once(job_server) -> None:
    api = TestClient(create_application(job_server, TOKENS, kept_seconds=600))

    def states() -> dict[str, str]:
        jobs = api.get("/jobs", headers=READ).json()["jobs"]
        return {job["id"]: job["status"] for job in jobs}

    assert states()[gallery.RUNNING] == "RUNNING"
    job = job_server.registry.job(gallery.RUNNING)
    job_server.registry.put_job(replace(job, status=JobStatus.CANCELLING))
    assert states()[gallery.RUNNING] == "CANCELLING"
