"""Connections by which workers show that they reach the driver."""

from __future__ import annotations

from millrace.runtime.resident.connection import connect, listening
from millrace.spark.connect.reach import accepting


def test_more_workers_than_the_kernel_keeps_connections_for() -> None:
    listener, port = listening("127.0.0.1")
    listener.listen(1)
    with accepting(listener):
        for _ in range(20):
            with connect(f"127.0.0.1:{port}", patience=5.0) as link:
                link.setblocking(True)
                assert not link.recv(1)
    assert listener.fileno() == -1
