"""Topics of a real broker, and a clock that goes."""

from __future__ import annotations

import pytest
from kafka_broker import KafkaBroker
from kafka_topics import Topics, WallClock


@pytest.fixture(scope="session")
def topics(kafka_broker: KafkaBroker) -> Topics:
    """Topics of the broker that all tests share."""
    return Topics(kafka_broker.bootstrap_servers)


@pytest.fixture
def wall_clock() -> WallClock:
    return WallClock()
