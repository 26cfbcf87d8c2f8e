"""The commands with ``--server``, against a real server with a job in a real process."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.main import main
from millrace.rest.http_server import HttpServer
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application
from millrace.server.job_server import JobServer, ServerSettings

TOKENS = AccessTokens(read="r" * 20, operate="o" * 20)
JOBS = Path(__file__).parent / "jobs"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def http(servers: Any) -> Iterator[HttpServer]:
    settings = ServerSettings(
        servers.directory, servers.directory / "savepoints", allow_uploads=True
    )
    server = JobServer(settings, servers.registry, servers.supervisor)
    servers.supervisor.follows = True
    server.lead(servers.token)
    http = HttpServer(create_application(server, TOKENS), "127.0.0.1", 0)
    http.start()
    yield http
    http.close()
    server.close()


@pytest.fixture
def millrace(
    http: HttpServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Runs a command with the server; gives exit code, output and errors."""
    monkeypatch.setenv("MILLRACE_TOKEN", TOKENS.operate)

    def command(word: str, *words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([word, "--server", f"http://127.0.0.1:{http.port}", *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


@pytest.mark.fault
def test_a_job_from_its_upload_to_its_end(
    millrace: Command, servers: Any, eventually: Callable[..., None], tmp_path: Path
) -> None:
    assert millrace("list")[1].endswith("has no jobs\n")
    out = str(servers.directory / "out")
    code, printed, _ = millrace("run", "-d", "--name", "counts", str(JOBS / "counting.py"), out)
    id = printed.strip()
    assert (code, len(id)) == (0, 32)
    eventually(lambda: servers.runs(id))

    assert json.loads(millrace("list", "--json")[1])[0]["jid"] == id
    assert f"running  counts  {id}" in millrace("list")[1]
    assert "counts is RUNNING: " in millrace("status", "counts")[1]
    told = millrace("info", id[:8])[1]
    assert told.startswith("counts is RUNNING since ")
    assert "\nbegan        " in told
    assert "checkpoints " in told
    assert "Map -> Map -> Sink" in told
    (shown,) = json.loads(millrace("top", "--json")[1])
    assert (shown["name"], shown["status"]) == ("counts", "RUNNING")
    assert "counts  running" in millrace("top")[1]
    assert "no subtask has been running for more than two seconds" in millrace("stacks", id)[1]
    assert millrace("rescale", "-p", "2", "counts")[1] == "job 'counts' runs with parallelism 2\n"

    assert millrace("checkpoint", "counts")[1].endswith(" of job 'counts' is complete\n")

    code, printed, _ = millrace("savepoint", "counts", str(tmp_path / "kept"))
    assert code == 0
    assert (Path(printed.strip()) / "_metadata").is_file()
    assert millrace("savepoint", "counts", "kept")[0] == 2, "the server has another directory"
    code, printed, _ = millrace("stop", "counts", "--savepoint", str(tmp_path / "kept"))
    assert (code, "has ended with the savepoint" in printed) == (0, True)
    savepoint = printed.split()[-1]
    assert "counts is not running: FINISHED" in millrace("status", id)[1]
    code, _, err = millrace("cancel", id)
    assert (code, "millrace: job 'counts' is not running: it is FINISHED\n") == (1, err)

    # the next one goes on from there
    id = millrace("run", "-d", "-s", savepoint, str(JOBS / "counting.py"), out)[1].strip()
    eventually(lambda: servers.runs(id))
    assert millrace("cancel", id)[1] == "job 'counting' was cancelled\n"
    assert "counting is not running: CANCELED" in millrace("status", id)[1]
    numbers = servers.outputs()
    assert numbers
    assert len(numbers) == len(set(numbers))


def test_a_job_is_followed_to_its_end(millrace: Command, servers: Any) -> None:
    out = str(servers.directory / "out")
    code, _, err = millrace("run", str(JOBS / "counting.py"), out, "20")
    assert code == 0, err
    assert "keeps its checkpoints in" in err
    assert "the job has ended: FINISHED" in err
    assert servers.outputs() == list(range(1, 21))
    assert "keeps its checkpoints in" in millrace("logs", "counting")[1]


def test_a_job_that_fails_is_told_of(millrace: Command, tmp_path: Path) -> None:
    program = tmp_path / "broken.py"
    program.write_text("print('it begins')\nraise ValueError('no such luck')\n")
    code, _, err = millrace("run", str(program))
    assert code == 1
    assert "it begins" in err
    assert "the job has ended: FAILED" in err
    assert "ValueError: no such luck" in err


def test_who_may_not(
    millrace: Command, http: HttpServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, _, err = millrace("status", "nobody")
    assert (code, "has no job 'nobody'" in err) == (1, True)
    assert millrace("run", "--resume", str(JOBS / "counting.py"))[0] == 2
    monkeypatch.setenv("MILLRACE_TOKEN", TOKENS.read)
    assert millrace("list")[0] == 0
    code, _, err = millrace("run", str(JOBS / "counting.py"))
    assert (code, "this token may only read" in err) == (1, True)
    token = tmp_path / "token"
    token.write_text("wrong\n")
    code, _, err = millrace("list", "--token-file", str(token))
    assert (code, "pass the token with --token-file, or in MILLRACE_TOKEN" in err) == (1, True)
    assert main(["list", "--server", "ftp://there"]) == 1
    assert main(["list", "--server", "http://127.0.0.1:1"]) == 1
    assert main(["list", "--server", str(tmp_path)]) == 1


def test_what_is_uploaded_runs_with_its_modules(millrace: Command, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import beside, given\nprint(beside.WORD, given.WORD)\n")
    (tmp_path / "beside.py").write_text("WORD = 'one'\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "given.py").write_text("WORD = 'two'\n")
    given = str(tmp_path / "other" / "given.py")
    code, _, err = millrace("run", "--py-files", given, str(tmp_path / "job.py"))
    assert (code, "one two\n" in err) == (0, True), err
    with zipfile.ZipFile(tmp_path / "modules.zip", "w"):
        pass
    archive = str(tmp_path / "modules.zip")
    assert millrace("run", "--py-files", archive, str(tmp_path / "job.py"))[0] == 2
