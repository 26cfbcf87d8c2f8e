"""Messages between the driver and its resident workers."""

from __future__ import annotations

import pytest

from millrace.runtime.resident.control import (
    Hello,
    News,
    Wiring,
    WorkerAddress,
    decode_news,
    encode_news,
    host_id,
)

HERE = WorkerAddress("one", "/tmp/a", "10.0.0.1:5")
BESIDE = WorkerAddress("one", "/tmp/b", "10.0.0.1:6")
ELSEWHERE = WorkerAddress("two", "/tmp/a", "10.0.0.2:5")


def test_workers_of_one_machine_connect_by_a_path() -> None:
    assert HERE.addresses_from(BESIDE)[0] == "unix:/tmp/a"


def test_workers_of_two_machines_connect_by_a_port() -> None:
    """Even if a path of the same name exists on both."""
    assert HERE.addresses_from(ELSEWHERE) == ["10.0.0.1:5"]


def test_a_worker_without_a_path_is_reached_by_its_port() -> None:
    assert WorkerAddress("one", "", "127.0.0.1:5").addresses_from(BESIDE) == ["127.0.0.1:5"]


def test_messages_arrive_as_they_were_sent() -> None:
    hello = Hello("host:12", HERE, 7)
    assert Hello.decode(hello.encode()) == hello
    wiring = Wiring(3, b"program", (HERE, ELSEWHERE), 0.002)
    assert Wiring.decode(wiring.encode()) == wiring


@pytest.mark.parametrize("news", News)
def test_news_arrive_with_their_epoch(news: News) -> None:
    assert decode_news(encode_news(12_345, news)) == (12_345, news)


def test_a_machine_has_one_identity() -> None:
    assert host_id() == host_id() != ""
