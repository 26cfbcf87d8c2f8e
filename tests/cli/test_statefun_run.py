"""``millrace statefun run`` on Spark: what the person at the terminal hears of the workers."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from tests.statefun.application.test_playground import MODULE, asked, free_ports, patiently

pytest.importorskip("statefun")
pytestmark = pytest.mark.spark
PATIENCE = 180.0


class Heard:
    """The lines of a process' standard error."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines: list[str] = []
        self._process = process
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line.rstrip("\n"))

    def of(self, part: str) -> list[str]:
        return [line for line in self.lines if part in line]

    def await_line(self, part: str) -> str:
        deadline = time.monotonic() + PATIENCE
        while not (found := self.of(part)):
            assert time.monotonic() < deadline, (part, self.lines)
            assert self._process.poll() is None, self.lines
            time.sleep(0.05)
        return found[0]


@pytest.mark.turns(7)
def test_ports_are_told_when_they_are_open_and_endpoints_that_do_not_answer(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    ingress, egress, dead = free_ports(3)
    url = f"http://127.0.0.1:{dead}"
    module = MODULE.format(url=url, ingress=ingress, egress=egress)
    (tmp_path / "module.yaml").write_text(module)
    process = start("statefun", "run", "--parallelism", "1", "module.yaml")
    heard = Heard(process)
    place = f"the ingress of the playground listens on http://127.0.0.1:{ingress}"
    assert heard.await_line("the ingress") == f"millrace: {place}"

    patiently(lambda: asked(ingress, "PUT", "/test/greeter/Ada", "one"))
    warning = heard.await_line("has not succeeded")
    assert warning.startswith("millrace: warning")
    assert url in warning

    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    assert len(heard.of("the ingress")) == 1
