"""Where workers of a Spark Connect server reach the driver."""

from __future__ import annotations

from millrace.common import Configuration
from millrace.spark.connect.endpoint import endpoint_of


def test_the_address_in_the_network_of_the_server() -> None:
    """The server's host is that of the program's own session."""
    assert endpoint_of(Configuration(), "127.0.0.2").host.startswith("127.")
    assert endpoint_of(Configuration(), "localhost").is_loopback
    assert endpoint_of(Configuration(), "no such host").host == "127.0.0.1"
    named = Configuration({"jobmanager.rpc.address": "192.0.2.1"})
    assert endpoint_of(named, "localhost").host == "192.0.2.1"
