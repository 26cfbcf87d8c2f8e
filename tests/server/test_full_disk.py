"""Full disks are recognised, whoever has noticed them."""

from __future__ import annotations

import errno
import sqlite3

import pytest
from starlette.testclient import TestClient

from millrace.common.errors import CheckpointError
from millrace.server import full_disk as module
from millrace.server.access_tokens import AccessTokens
from millrace.server.api_route import AccessRole, ApiRoute
from millrace.server.application import create_application
from millrace.server.full_disk import full_disk
from millrace.server.registry import RegisteredJob, Submission
from millrace.state.checkpoint.files import write_file

TOKENS = AccessTokens(read="r" * 20, operate="o" * 20)


def test_a_full_registry_in_sqlite(job_server) -> None:
    """The database is not allowed another page, so SQLite itself refuses."""

    def fill(server, request) -> None:
        connection = server.registry.engine.raw_connection()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        connection.close()
        for number in range(1_000):
            submission = Submission("x" * 1_000, None, ("y" * 1_000,))
            server.registry.put_job(RegisteredJob(f"{number:032x}", submission))

    route = ApiRoute("GET", "/fill", fill, "Fills.", None, AccessRole.NOBODY)
    answer = TestClient(create_application(job_server, TOKENS, [route])).get("/fill")
    assert answer.status_code == 507
    assert "the disk of the server's registry" in answer.json()["errors"][0]


def test_a_full_disk_within_an_error_of_a_checkpoint(job_server) -> None:
    def write(server, request) -> None:
        raise CheckpointError("cannot write it") from OSError(errno.ENOSPC, "No space left", "/f")

    route = ApiRoute("GET", "/write", write, "Writes.", None, AccessRole.NOBODY)
    answer = TestClient(create_application(job_server, TOKENS, [route])).get("/write")
    assert (answer.status_code, "for /f: nothing was stored" in answer.text) == (507, True)


def test_what_writes_files_of_checkpoints_says_why(tmp_path) -> None:
    with pytest.raises(CheckpointError) as caught:
        write_file(tmp_path / "missing" / "file", (b"x",), durable=False)
    assert full_disk(caught.value) is None
    assert isinstance(caught.value.__cause__, OSError)


class PostgresError(Exception):
    sqlstate = module.POSTGRESQL_DISK_FULL


@pytest.mark.parametrize(
    ("error", "is_full"),
    [
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (PostgresError(), True),
        (sqlite3.OperationalError("no such table"), False),
        (ValueError("database or disk is full"), False),
    ],
    ids=["quota", "permission", "postgresql", "sqlite", "only words"],
)
def test_which_errors_are_meant(error: Exception, is_full: bool) -> None:
    assert (full_disk(error) is not None) is is_full


def test_what_was_hidden_on_purpose_does_not_count() -> None:
    error = ValueError("something else")
    error.__context__, error.__suppress_context__ = OSError(errno.ENOSPC, "No space left"), True
    assert full_disk(error) is None
