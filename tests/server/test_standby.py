"""What a server answers that does not lead."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from millrace.server.leadership import ServerIdentity
from millrace.server.standby import Standby

LEADER = ServerIdentity("a", "https://leader:8081/", "host", 1, "")


class Election:
    """Somebody leads: this server, another one, or nobody."""

    def __init__(self, token: int | None, leader: ServerIdentity | None) -> None:
        self.token = lambda: token
        self.leader = lambda: leader


def client(election: Election | None) -> TestClient:
    application = Standby(PlainTextResponse("the application"), lambda: election)
    return TestClient(application, follow_redirects=False)


def test_the_leader_answers() -> None:
    assert client(Election(3, LEADER)).get("/jobs").text == "the application"


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_a_standby_sends_everything_to_the_leader(method: str) -> None:
    answer = client(Election(None, LEADER)).request(method, "/v1/jobs/a%20b%2Fc?mode=cancel&x=%2F")
    assert answer.status_code == 307
    assert answer.headers["location"] == "https://leader:8081/v1/jobs/a%20b%2Fc?mode=cancel&x=%2F"


@pytest.mark.parametrize("leader", [None, ServerIdentity("a", "", "host", 1, "")])
def test_while_nobody_leads(leader: ServerIdentity | None) -> None:
    for election in (Election(None, leader), None):
        answer = client(election).get("/jobs")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "no server leads" in answer.json()["errors"][0]


@pytest.mark.parametrize("path", ["/health", "/v1/health", "/openapi.json"])
def test_what_every_server_answers(path: str) -> None:
    assert client(Election(None, LEADER)).get(path).text == "the application"


def test_a_path_leads_to_no_other_host() -> None:
    answer = client(Election(None, LEADER)).get("//elsewhere.example/x")
    assert answer.headers["location"].startswith("https://leader:8081/")
