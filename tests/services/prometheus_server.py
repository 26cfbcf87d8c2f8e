"""Prometheus: the server of the Debian package, which scrapes what a test tells it to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from debian import DebianPackages, debian_packages
from service import Service, free_ports

_GLOBAL = """
global: {scrape_interval: 200ms, evaluation_interval: 200ms}
rule_files: [rules/*.yml]
"""
_SCRAPE_CONFIGS = """
scrape_configs:
  - job_name: millrace
    file_sd_configs: [{files: [targets.json], refresh_interval: 200ms}]
"""


class PrometheusServer(Service):
    """One server without targets at first."""

    name: ClassVar[str] = "Prometheus"
    command: ClassVar[str] = "prometheus"
    fixture: ClassVar[str] = "prometheus_server"

    @classmethod
    def install(cls) -> None:
        _packages()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"PROMETHEUS_URL": self.url}

    def start(self) -> None:
        [self.port] = free_ports(1)
        (self.directory / "rules").mkdir(exist_ok=True)
        (self.directory / "prometheus.yml").write_text(_GLOBAL + _SCRAPE_CONFIGS)
        self.scrape([])
        command = [
            _packages().path("usr/bin/prometheus"),
            f"--config.file={self.directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--web.enable-lifecycle",
        ]
        self.spawn(command, _packages().environment)
        self.wait_until(self._answers)

    def scrape(self, ports: Sequence[int]) -> None:
        """What it scrapes from now on."""
        targets = [{"targets": [f"127.0.0.1:{port}" for port in ports]}]
        (self.directory / "targets.json").write_text(json.dumps(targets))

    def use_rules(self, path: Path) -> None:
        """Evaluate the rules of a file, and no others."""
        for earlier in (self.directory / "rules").iterdir():
            earlier.unlink()
        (self.directory / "rules" / path.name).write_text(path.read_text())
        self._reload()

    def use_scrape_configs(self, text: str | None) -> None:
        """Scrape as a text with ``scrape_configs`` tells; None: as `scrape` tells."""
        (self.directory / "prometheus.yml").write_text(_GLOBAL + (text or _SCRAPE_CONFIGS))
        self._reload()

    def _reload(self) -> None:
        with urlopen(Request(f"{self.url}/-/reload", method="POST"), timeout=20):
            pass

    def ask(self, path: str, **parameters: str) -> Any:
        """The data of an answer of its API."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        with urlopen(f"{self.url}/api/v1/{path}{query}", timeout=20) as answer:
            return json.load(answer)["data"]

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/-/ready", timeout=5):
                return True
        except (URLError, OSError):
            return False


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Prometheus' tool that checks files."""
    program = _packages().path("usr/bin/promtool")
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def _packages() -> DebianPackages:
    return debian_packages("prometheus", "prometheus")
