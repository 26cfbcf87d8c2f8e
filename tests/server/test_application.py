"""Who may ask what, and what every answer looks like."""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Event, Semaphore

import gallery
import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.testclient import TestClient

from millrace.server import misspelt_names
from millrace.server.access_tokens import AccessTokens
from millrace.server.api_route import AccessRole, ApiRequest, ApiRoute
from millrace.server.application import ROUTES, create_application
from millrace.server.job_server import JobServer
from millrace.server.registry import LeadershipLostError

TOKENS = AccessTokens(read="r" * 20, operate="o" * 20)
WRONG = {
    "none": {},
    "wrong": {"Authorization": "Bearer " + "x" * 20},
    "no bearer": {"Authorization": "r" * 20},
    "other scheme": {"Authorization": "Basic " + "r" * 20},
    "not ascii": {"Authorization": b"Bearer \xff"},
}


def path_of(route: ApiRoute) -> str:
    values = {"jobid": gallery.RUNNING, "vertexid": "0" * 32, "triggerid": "0" * 32}
    path = route.path
    for name in ("jobid", "vertexid", "triggerid"):
        path = path.replace(f"{{{name}}}", values[name])
    return path.replace("{", "").replace("}", "")


def test_each_route_wants_its_token(job_server) -> None:
    client = TestClient(create_application(job_server, TOKENS), raise_server_exceptions=False)
    read = {"Authorization": f"Bearer {TOKENS.read}"}
    for route in ROUTES:
        where = (route.method, path_of(route))
        answers = {
            name: client.request(*where, headers=headers).status_code
            for name, headers in WRONG.items()
        }
        wanted = 200 if route.role is AccessRole.NOBODY else 401
        assert answers == dict.fromkeys(WRONG, wanted), where
        reading = client.request(*where, headers=read).status_code
        assert (reading == 403) is (route.role is AccessRole.OPERATE), where
        assert reading < 500, where


def test_errors_are_flinks(api) -> None:
    assert api.get(f"/jobs/{'0' * 32}").json() == {"errors": [f"Job {'0' * 32} not found"]}
    assert api.get("/jobs/short").status_code == 400
    assert api.get("/nothing/here").json() == {"errors": ["Not Found"]}
    wrong_method = api.put("/jobs")
    assert (wrong_method.status_code, wrong_method.headers["allow"]) == (405, "GET, HEAD")


def test_paths_with_and_without_a_version(api) -> None:
    assert api.get("/v1/jobs").json() == api.get("/jobs").json()
    assert api.head("/v1/jobs").status_code == 200


def test_headers(api) -> None:
    for path in ("/", "/jobs", "/nothing"):
        headers = api.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert api.get("/jobs").headers["cache-control"] == "no-store"
    assert api.get("/").headers["cache-control"] == "no-cache"
    assert "text/html" in api.get("/").headers["content-type"]


def test_a_failing_route_says_no_more_than_that(job_server) -> None:
    def fail(server, request: ApiRequest) -> None:
        raise RuntimeError("a secret")

    route = ApiRoute("GET", "/fail", fail, "Fails.", None, AccessRole.NOBODY)
    application = create_application(job_server, TOKENS, [route])
    answer = TestClient(application, raise_server_exceptions=False).get("/fail")
    assert (answer.status_code, "secret" in answer.text) == (500, False)
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_leader_that_was_replaced_asks_for_patience(job_server) -> None:
    def lose(server, request: ApiRequest) -> None:
        raise LeadershipLostError("another server leads")

    route = ApiRoute("GET", "/lose", lose, "Loses.", None, AccessRole.NOBODY)
    answer = TestClient(create_application(job_server, TOKENS, [route])).get("/lose")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json() == {"errors": ["another server leads"]}


@pytest.mark.parametrize(
    "error",
    [OperationalError("SELECT secret", {}, Exception("no answer")), PoolTimeoutError("all wait")],
)
def test_a_registry_that_does_not_answer_asks_for_patience(job_server, error: Exception) -> None:
    def wait(server, request: ApiRequest) -> None:
        raise error

    route = ApiRoute("GET", "/wait", wait, "Waits.", None, AccessRole.NOBODY)
    application = create_application(job_server, TOKENS, [route])
    answer = TestClient(application, raise_server_exceptions=False).get("/wait")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "secret" not in answer.text
    assert "database does not respond" in answer.json()["errors"][0]


def test_without_tokens_only_this_machines_pages(job_server) -> None:
    client = TestClient(create_application(job_server, AccessTokens()), gallery.LOCAL)
    assert client.get("/jobs").status_code == 200
    for host in ("evil.example", "testserver", "localhost.evil.example"):
        assert client.get("/jobs", headers={"Host": host}).status_code == 403
    assert client.get("/jobs", headers={"Origin": "http://evil.example"}).status_code == 403
    # what a picture, a form or a link on another page sends along
    for site in ("cross-site", "same-site"):
        assert client.get("/jobs", headers={"Sec-Fetch-Site": site}).status_code == 403
    for site in ("none", "same-origin"):
        assert client.get("/jobs", headers={"Sec-Fetch-Site": site}).status_code == 200
    same = {"Host": "localhost:8081", "Origin": "http://localhost:8081"}
    assert client.get("/jobs", headers=same).status_code == 200


def test_openapi_names_every_route(api) -> None:
    document = api.get("/openapi.json").json()
    named = {(m.upper(), path) for path, methods in document["paths"].items() for m in methods}
    assert named == {(route.method, route.path) for route in ROUTES}
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_health_waits_for_nobody(job_server) -> None:
    """It is answered while every thread that answers requests is busy."""
    goes_on, busy = Event(), Semaphore(0)

    def slow(server: JobServer, request: ApiRequest) -> dict[str, str]:
        busy.release()
        assert goes_on.wait(60)
        return {}

    routes = (*ROUTES, ApiRoute("GET", "/slow", slow, "Slow.", None, AccessRole.READ))
    headers = {"Authorization": f"Bearer {TOKENS.read}"}
    application = create_application(job_server, TOKENS, routes)

    async def ask() -> tuple[int, list[int]]:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            threads = int(current_default_thread_limiter().total_tokens)
            ask_slowly = partial(client.get, "/slow", headers=headers)
            waiting = [asyncio.create_task(ask_slowly()) for _ in range(threads + 5)]
            for _ in range(threads):
                while not busy.acquire(blocking=False):
                    await asyncio.sleep(0)
            try:
                health = await asyncio.wait_for(client.get("/health"), 60)
            finally:
                goes_on.set()
            return health.status_code, [(await each).status_code for each in waiting]

    health, others = asyncio.run(ask())
    assert health == 200
    assert set(others) == {200}


def test_a_body_of_very_many_fields_holds_nobody_up(job_server, monkeypatch) -> None:
    """The comparison with known names is slow, and nobody else is answered meanwhile."""
    compared: list[str] = []
    monkeypatch.setattr(
        misspelt_names, "nearest_name", lambda name, *_: compared.append(name) or None
    )
    body = {f"{'x' * 80}{number}": 1 for number in range(10_000)}
    client = TestClient(create_application(job_server, AccessTokens()), gallery.LOCAL)
    assert client.post("/programs/run", json={"program": "a.py", **body}).status_code == 403
    assert 0 < len(compared) < 200
