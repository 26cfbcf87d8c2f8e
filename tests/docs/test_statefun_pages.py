"""The programs and sessions of the pages about Stateful Functions."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

import pytest
from function_servers import JavaScriptFunctions
from running import fixture_of

from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.resident.tasks import ResidentSettings
from millrace.statefun.application.module_job import add_module, embedded_functions
from millrace.statefun.module import read_module
from millrace.testing import run_local
from millrace.testing.resident_tasks import local_resident_executor

pytest.importorskip("statefun")
ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "statefun"
PATIENCE = 30.0
SAY = re.compile(r'^say\(\) \{ curl -X PUT -H "(.*?)" -d "\$2" (\S+)/\$1; \}$')


def program(page: str, title: str = "") -> str:
    """The program of a page with this title."""
    text = (PAGES / page).read_text(encoding="utf-8")
    title = f' title="{title}"' if title else ""
    [code] = re.findall(rf"```python{title}\n(.*?)```", text, re.DOTALL)
    return str(code)


def run_program(code: str) -> None:
    with run_local():
        exec(compile(code, "page", "exec"), {"__name__": "page"})


def test_the_first_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_program(program("index.md"))
    assert capsys.readouterr().out.strip() == (
        "['Hello Ada, number 1', 'Hello Ada, number 2', 'Hello Grace, number 1']"
    )


def test_files_go_in_and_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "1.txt").write_text("row row row your boat\n", encoding="utf-8")
    (tmp_path / "lines" / "2.txt").write_text("gently down the stream row\n", encoding="utf-8")
    run_program(program("streams.md", "files.py"))
    parts = [path for path in (tmp_path / "counts").rglob("part-*") if path.is_file()]
    lines = Counter(line for path in parts for line in path.read_text("utf-8").splitlines())
    others = ("your", "boat", "gently", "down", "the", "stream")
    assert lines == Counter([*(f"row: {n}" for n in (1, 2, 3, 4)), *(f"{w}: 1" for w in others)])


def test_sql_reads_an_egress(capsys: pytest.CaptureFixture[str]) -> None:
    run_program(program("streams.md", "refused.py"))
    assert ast.literal_eval(capsys.readouterr().out) == {"anna": (1, 70), "ben": (2, 15)}


class Greeter(JavaScriptFunctions):
    """The greeter of the example, on a port of its own."""

    def program(self) -> list[str | Path]:  # type: ignore[override]
        *node, _ = super().program()
        return [*node, ROOT / "examples" / "greeter" / "greeter.js", str(self.port)]


SESSIONS = [("cart", "carts"), ("rides", "rides"), ("greeter", "persons"), ("surge", "surge")]
APPLICATIONS = {"surge": ROOT / "docs" / "applications" / "surge-pricing.md"}
"""Pages of sessions that are elsewhere."""


@pytest.mark.parametrize(("name", "module"), SESSIONS, ids=lambda part: part)
def test_a_session_goes_as_its_page_says(
    name: str,
    module: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples" / name)
    functions = embedded_functions(vars(importlib.import_module(module)))
    ports = dict(zip(("8090", "8091"), free_ports(2), strict=True))
    if name == "greeter":
        ports["8000"] = request.getfixturevalue("greeter_server").port
    text = (ROOT / "examples" / name / "module.yaml").read_text(encoding="utf-8")
    path = tmp_path / "module.yaml"
    path.write_text(re.sub(r"\d{4}", lambda port: str(ports[port[0]]), text), encoding="utf-8")
    settings = ResidentSettings(barrier_interval=20)
    with run_local(executor=lambda: local_resident_executor(2, settings)):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        add_module(env, read_module(path), functions)
        client = env.execute_async("module")
        try:
            page = APPLICATIONS.get(name, PAGES / f"{name}.md")
            monkeypatch.chdir(ROOT / "examples")
            play(page.read_text(encoding="utf-8"), ports)
        finally:
            client.cancel().result()


greeter_server = fixture_of(Greeter)


def play(page: str, ports: dict[str, int]) -> None:
    """Type the commands of a page's second terminal, and compare what they print."""
    _, _, rest = page.partition("In another terminal:\n")
    session = "".join(re.findall(r"```console\n(.*?)```", rest, re.DOTALL))
    say = None
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        function = SAY.match(line)
        if function is not None:
            say = function
        elif line.startswith("python "):
            own_ports = [str(ports[port]) for port in ("8090", "8091")]
            words = [sys.executable, *line.split()[1:], *own_ports]
            assert subprocess.check_output(words, text=True, timeout=PATIENCE) == printed
        elif line.startswith("say "):
            assert say is not None
            _, address, body = shlex.split(line)
            asked("PUT", f"{say[2]}/{address}", ports, "", body, say[1])
        else:
            words = shlex.split(line)
            method = "PUT" if "PUT" in words else "GET"
            asked(method, words[-1], ports, printed.strip())


def asked(
    method: str, url: str, ports: dict[str, int], printed: str, body: str = "", header: str = ""
) -> None:
    """Ask until the answer is a success, and compare it."""
    parts = urlsplit(f"//{url}")
    name, _, value = header.partition(": ")
    deadline = monotonic() + PATIENCE
    while True:
        connection = HTTPConnection("127.0.0.1", ports[str(parts.port)], timeout=PATIENCE)
        try:
            connection.request(method, parts.path, body, {name: value} if name else {})
            reply = connection.getresponse()
            status, content = reply.status, reply.read().decode()
        except OSError as error:
            status, content = 0, str(error)
        finally:
            connection.close()
        if status == 200:
            assert content == printed
            return
        assert monotonic() < deadline, (method, url, status, content)
        sleep(0.01)


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def test_modules_of_the_examples_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    from millrace.cli.main import main

    for name, _ in SESSIONS:
        assert main(["statefun", "validate", str(ROOT / "examples" / name / "module.yaml")]) == 0
    assert "playground ingress" in capsys.readouterr().out


def test_titles_of_troubleshooting_are_messages() -> None:
    """A message that was changed is to be changed on the page, too."""
    page = (PAGES / "troubleshooting.md").read_text(encoding="utf-8")
    titles = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    assert len(titles) > 15
    sources = (ROOT / "src" / "millrace" / "statefun").rglob("*.py")
    messages = {text for path in sources for text in texts_in(path)}
    assert [title for title in titles if title not in messages] == []


def texts_in(path: Path) -> Iterator[str]:
    """Texts with places for values in a source."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield "".join(map(str, parts))
