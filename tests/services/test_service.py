"""Servers for tests: a process that ends early is told of, and ends with whoever started it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

import pytest
from redis_server import RedisServer
from running import running, unavailable
from seaweedfs import SeaweedFS
from service import (
    REQUIRED,
    Service,
    ServiceUnavailableError,
    free_ports,
    is_required,
    run_installer,
)


class Failing(Service):
    name: ClassVar[str] = "failing"
    environment: ClassVar[dict[str, str]] = {}

    @classmethod
    def install(cls) -> None:
        """Nothing to do."""

    def start(self) -> None:
        self.spawn([sys.executable, "-c", "print('no disk left'); raise SystemExit(3)"])
        self.wait_until(lambda: False)


def test_a_server_that_ends_says_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(ServiceUnavailableError, match="failing ended with 3: no disk left"):
        Failing(tmp_path).__enter__()


class Missing(Failing):
    name: ClassVar[str] = "missing server"

    @classmethod
    def install(cls) -> None:
        raise ServiceUnavailableError("no network")


def test_tests_without_their_server_are_skipped_loudly(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason, which the summary shows, too; or they fail, if the server is required."""
    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no missing server: no network"):
        next(running(Missing, tmp_path_factory))
    assert unavailable.pop(Missing.name) == "no network"
    monkeypatch.setenv(REQUIRED, "Kafka,missing")
    with pytest.raises(pytest.skip.Exception):
        next(running(Missing, tmp_path_factory))
    for required in ("1", "Kafka,missing server"):
        monkeypatch.setenv(REQUIRED, required)
        with pytest.raises(pytest.fail.Exception, match="no missing server: no network"):
            next(running(Missing, tmp_path_factory))
    unavailable.pop(Missing.name)


def test_servers_are_required_by_their_short_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUIRED, "S3,Redis")
    required = ("S3 (SeaweedFS)", "Redis", "Redis cluster", "Kafka (three brokers)", "1")
    assert [is_required(name) for name in required] == [True, True, False, False, False]


def test_an_installer_that_fails_says_why() -> None:
    with pytest.raises(ServiceUnavailableError, match="no-such-installer is missing"):
        run_installer(["no-such-installer"])
    with pytest.raises(ServiceUnavailableError, match="no mirror"):
        run_installer([sys.executable, "-c", "raise SystemExit('no mirror')"])


def test_ports_differ() -> None:
    assert len(set(free_ports(8))) == 8


def test_the_s3_server_ends_when_it_is_told(s3_server: SeaweedFS, tmp_path: Path) -> None:
    assert s3_server.endpoint.startswith("http://127.0.0.1:")
    with SeaweedFS(tmp_path) as another:
        [process] = another._processes
        assert another.port != s3_server.port
    assert process.poll() is not None


def test_a_server_of_debian_packages_keeps_its_data(redis_server: RedisServer) -> None:
    """Unpacked with the libraries that it needs; killed and started again at the same place."""
    import redis

    client = redis.Redis.from_url(redis_server.url)
    client.set("service", "kept")
    redis_server.restart()
    assert client.get("service") == b"kept"
    client.delete("service")
