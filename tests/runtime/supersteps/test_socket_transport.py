"""Messages between tasks over sockets."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest
from tests.runtime.supersteps.component_program import PulledComponents
from tests.runtime.supersteps.random_graph import (
    both_ways,
    components_in,
    components_of,
    random_graph,
    tables_of,
)

from millrace.runtime.resident.connection import connect, greet
from millrace.runtime.resident.control import WorkerAddress
from millrace.runtime.resident.listener import Listener
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.local_run import local_partition, run_tasks
from millrace.runtime.supersteps.socket_transport import SocketTransport, connected_transport
from millrace.runtime.supersteps.superstep_loop import result_table, run_supersteps
from millrace.runtime.supersteps.task_transport import PeerFailedError, PeerLostError, TaskTransport

TOKEN = b"secret"


def transports(count: int, host: str = "") -> list[SocketTransport]:
    """Transports of tasks that are threads of this process."""
    listeners = [Listener(host) for _ in range(count)]
    places = [listener.place for listener in listeners]
    if host:
        places = [WorkerAddress("elsewhere", "", place.tcp) for place in places]
    made: list[Any] = [None] * count

    def wire(index: int) -> None:
        made[index] = connected_transport(index, listeners[index], places, TOKEN, 1)

    threads = [Thread(target=wire, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for listener in listeners:
        listener.close()
    return made


def run(task: Callable[[TaskTransport], Any], made: list[SocketTransport]) -> list[Any]:
    try:
        return run_tasks(task, made)
    finally:
        for transport in made:
            transport.close()


@pytest.mark.parametrize("host", ["", "127.0.0.1"])
def test_a_program_over_sockets(host: str) -> None:
    ids, edges = random_graph(5)
    vertex_table, edge_table = tables_of(ids, both_ways(edges))

    def task(transport: TaskTransport) -> set[frozenset[Any]]:
        partition = local_partition(transport, vertex_table, edge_table)
        program, exchange = PulledComponents(), GraphExchange(transport, partition)
        run_supersteps(program, partition, exchange)
        tables = exchange.all_gather(result_table(program).to_pydict())
        import pyarrow as pa

        return components_in(pa.concat_tables(pa.table(table) for table in tables))

    assert run(task, transports(3, host)) == [components_of(ids, edges)] * 3


def test_messages_larger_than_sockets_hold() -> None:
    """Two tasks that send each other 20 MB do not wait for each other."""
    size = 5_000_000

    def task(transport: TaskTransport) -> int:
        sent = np.full(size, transport.index + 1, np.int32)
        into = np.zeros(size, np.int32)
        other = 1 - transport.index
        outgoing: list[Any] = [[], []]
        outgoing[other] = [sent[:10], sent[10:]]
        incoming: list[Any] = [np.empty(0, np.int32)] * 2
        incoming[other] = into
        transport.swap("test", outgoing, incoming)
        return int(into.sum(dtype=np.int64))

    assert run(task, transports(2)) == [2 * size, size]


def test_a_lost_task_is_told() -> None:
    made = transports(2)
    made[1].close()
    with pytest.raises(PeerLostError):
        made[0].swap("test", [[], [b"1"]])
    made[0].close()


def test_a_failed_task_is_told() -> None:
    made = transports(2)
    made[1].abort()
    with pytest.raises(PeerFailedError, match="task 1 has failed"):
        made[0].swap("test", [[], [b"1"]])
    for transport in made:
        transport.close()


@pytest.mark.parametrize(
    "greeting",
    [
        (b"guessed", "supersteps", 1, 1),
        (TOKEN, "supersteps", 2, 1),
        (TOKEN, "records", 1, 1),
        (TOKEN, "supersteps", 1, 7),
    ],
)
def test_strangers_are_refused(greeting: tuple[bytes, str, int, int]) -> None:
    """A connection with a wrong token, attempt or number takes nobody's place."""
    listener, other = Listener(), Listener()
    places = [listener.place, other.place]
    address = listener.place.addresses_from(listener.place)
    stranger, silent = connect(*address), connect(*address)
    greet(stranger, greeting)
    made: list[SocketTransport] = []
    accepting = Thread(
        target=lambda: made.append(connected_transport(0, listener, places, TOKEN, 1))
    )
    accepting.start()
    stranger.settimeout(10)
    assert stranger.recv(1) == b""
    made.append(connected_transport(1, other, places, TOKEN, 1))
    accepting.join(10)
    assert run(lambda transport: transport.index, sorted(made, key=lambda t: t.index)) == [0, 1]
    for end in (stranger, silent):
        end.close()
    listener.close()
    other.close()


def test_a_task_that_ends_before_it_connects() -> None:
    listener, closed = Listener(), Listener()
    places = [closed.place, listener.place]
    closed.close()
    with pytest.raises(PeerLostError, match="does not answer"):
        connected_transport(1, listener, places, TOKEN, 1)
    listener.close()
