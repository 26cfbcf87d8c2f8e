"""Frames between two processes, compared: sockets of our own, ZeroMQ and Arrow Flight.

A sender and a receiver, both Python. Two measures for each transport: the latency of messages of
200 bytes, 1,000 a second, and the rate of messages of 64 KB while the sender keeps at most 16 of
them unanswered (the receiver answers with a credit for each). The receiver unpacks each message
(`marshal`), as a task does.

    tcp     own frames over loopback TCP, one loop of `selectors`
    unix    the same over a Unix domain socket
    tls     the same over loopback TCP with TLS and a pinned certificate (needs `openssl`)
    zmq     ZeroMQ (pyzmq), PAIR sockets over `ipc://`; zmq-tcp: over loopback TCP
    flight  Arrow Flight, `do_exchange`, metadata buffers (no record batches)

    python benchmarks/spikes/transport.py --seconds 4 --rounds 3

Needs pyzmq and pyarrow with Flight; neither is a dependency of Millrace for this.
"""

from __future__ import annotations

import argparse
import marshal
import multiprocessing
import os
import random
import selectors
import socket
import ssl
import statistics
import struct
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

TRANSPORTS = ("tcp", "unix", "tls", "zmq", "zmq-tcp", "flight")
WINDOW = 16
HEADER = struct.Struct("<I")
STAMP = struct.Struct("<d")
SMALL = marshal.dumps([(number, "v" * 30, 1.5) for number in range(4)])
LARGE = marshal.dumps([(number, "v" * 30, 1.5) for number in range(1330)])


class Receiver:
    """What a receiver does with a message, whatever brought it."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.records = 0
        self.ended = False
        self.start = 0.0
        """Processor seconds before the first message: imports do not count."""

    def on_message(self, message: bytes | memoryview) -> None:
        """Unpack it."""
        (stamp,) = STAMP.unpack_from(message)
        if stamp < 0:
            self.ended = True
            return
        self.start = self.start or time.process_time()
        self.latencies.append(time.monotonic() - stamp)
        self.records += len(marshal.loads(memoryview(message)[STAMP.size :]))


Send = Callable[[bytes, bytes], None]
"""Send a stamp and a body."""
WaitForCredit = Callable[[], None]


def socket_pair(kind: str) -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection."""
    if kind in ("tcp", "tls"):
        with socket.create_server(("127.0.0.1", 0)) as server:
            one = socket.create_connection(server.getsockname())
            two, _ = server.accept()
        for end in (one, two):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return one, two
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as server:
        path = os.path.join(directory, "s")
        server.bind(path)
        server.listen()
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        two, _ = server.accept()
    return one, two


def certificate() -> str:
    """A file with a new key and its certificate."""
    path = os.path.join(tempfile.mkdtemp(), "pair.pem")
    request = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=run"
    )
    command = ["openssl", *request.split(), "-keyout", path, "-out", f"{path}.crt"]
    subprocess.run(command, check=True, capture_output=True)
    with open(path, "a", encoding="ascii") as pair, open(f"{path}.crt", encoding="ascii") as found:
        pair.write(found.read())
    return path


def encrypted(end: socket.socket, path: str, server: bool) -> socket.socket:
    """An end of a connection with TLS; the certificate itself is what is trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    if server:
        context.load_cert_chain(path)
    else:
        context.check_hostname = False
        context.load_verify_locations(path)
    return context.wrap_socket(end, server_side=server)


def receive_frames(end: socket.socket, receiver: Receiver) -> None:
    """A loop of `selectors`, as a resident task has one."""
    selector = selectors.DefaultSelector()
    end.setblocking(False)
    selector.register(end, selectors.EVENT_READ)
    buffer = bytearray()
    while not receiver.ended:
        selector.select(1)
        try:
            data = end.recv(1 << 16)
            # what TLS has unpacked already wakes no selector
            while isinstance(end, ssl.SSLSocket) and end.pending():
                data += end.recv(1 << 16)
        except ssl.SSLWantReadError:
            continue
        if not data:
            return
        buffer += data
        position = 0
        count = 0
        while len(buffer) - position >= HEADER.size:
            (length,) = HEADER.unpack_from(buffer, position)
            stop = position + HEADER.size + length
            if stop > len(buffer):
                break
            receiver.on_message(bytes(buffer[position + HEADER.size : stop]))
            position = stop
            count += 1
        del buffer[:position]
        if count:
            end.send(b"c" * count)


def send_frames(end: socket.socket) -> tuple[Send, WaitForCredit]:
    """The sender's side."""
    unanswered = 0

    def send(stamp: bytes, body: bytes) -> None:
        nonlocal unanswered
        end.sendall(HEADER.pack(len(stamp) + len(body)) + stamp + body)
        unanswered += 1

    def wait_for_credit() -> None:
        nonlocal unanswered
        while unanswered >= WINDOW:
            unanswered -= len(end.recv(4096))

    return send, wait_for_credit


def zmq_socket(address: str, bind: bool) -> Any:
    """A PAIR socket of ZeroMQ."""
    import zmq

    end = zmq.Context().socket(zmq.PAIR)
    end.bind(address) if bind else end.connect(address)
    return end


def receive_zmq(address: str, receiver: Receiver) -> None:
    """A message at a time: ZeroMQ reads ahead in a thread of its own."""
    end = zmq_socket(address, bind=True)
    while not receiver.ended:
        receiver.on_message(end.recv(copy=False).buffer)
        end.send(b"c")


def send_zmq(address: str) -> tuple[Send, WaitForCredit]:
    """The sender's side."""
    end = zmq_socket(address, bind=False)
    unanswered = 0

    def send(stamp: bytes, body: bytes) -> None:
        nonlocal unanswered
        end.send(stamp + body, copy=True)
        unanswered += 1

    def wait_for_credit() -> None:
        nonlocal unanswered
        while unanswered >= WINDOW:
            end.recv()
            unanswered -= 1

    return send, wait_for_credit


def receive_flight(port: int, receiver: Receiver) -> None:
    """A Flight server: gRPC has threads of its own, and one of them calls us."""
    from pyarrow import flight

    class Server(flight.FlightServerBase):  # type: ignore[misc]
        def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
            while not receiver.ended:
                receiver.on_message(reader.read_chunk().app_metadata)
                writer.write_metadata(b"c")

    server = Server(f"grpc://127.0.0.1:{port}")
    threading.Thread(target=server.serve, daemon=True).start()
    while not receiver.ended:
        time.sleep(0.05)


def send_flight(port: int) -> tuple[Send, WaitForCredit]:
    """The sender's side."""
    from pyarrow import flight

    client = flight.connect(f"grpc://127.0.0.1:{port}")
    client.wait_for_available()
    writer, reader = client.do_exchange(flight.FlightDescriptor.for_path("records"))
    unanswered = 0

    def send(stamp: bytes, body: bytes) -> None:
        nonlocal unanswered
        writer.write_metadata(stamp + body)
        unanswered += 1

    def wait_for_credit() -> None:
        nonlocal unanswered
        while unanswered >= WINDOW:
            reader.read_chunk()
            unanswered -= 1

    send.kept = client  # type: ignore[attr-defined]
    return send, wait_for_credit


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def receive(transport: str, place: Any, results: Connection) -> None:
    """The receiver's process."""
    receiver = Receiver()
    if transport == "tls":
        receive_frames(encrypted(place[0], place[1], server=True), receiver)
    elif transport in ("tcp", "unix"):
        receive_frames(place, receiver)
    elif transport == "flight":
        receive_flight(place, receiver)
    else:
        receive_zmq(place, receiver)
    results.send((receiver.latencies, receiver.records, time.process_time() - receiver.start))
    results.close()
    os._exit(0)


def send_all(transport: str, place: Any, large: bool, seconds: float, results: Connection) -> None:
    """The sender's process."""
    if transport == "tls":
        send, wait_for_credit = send_frames(encrypted(place[0], place[1], server=False))
    elif transport in ("tcp", "unix"):
        send, wait_for_credit = send_frames(place)
    elif transport == "flight":
        send, wait_for_credit = send_flight(place)
    else:
        send, wait_for_credit = send_zmq(place)
    draws = random.Random(3)
    before = time.process_time()
    start = due = time.monotonic()
    while (now := time.monotonic()) < start + seconds:
        wait_for_credit()
        if large:
            send(STAMP.pack(now), LARGE)
            continue
        while due <= now:
            wait_for_credit()
            send(STAMP.pack(due), SMALL)
            due += draws.uniform(0, 0.002)
        time.sleep(max(0.0, due - time.monotonic()))
    send(STAMP.pack(-1), b"")
    results.send(time.process_time() - before)
    time.sleep(1)
    os._exit(0)


def measure(transport: str, large: bool, seconds: float) -> tuple[list[float], int, float]:
    """One run: latencies, records, and the processor seconds of both processes."""
    context = multiprocessing.get_context("fork")
    ends: tuple[Any, ...]
    if transport in ("tcp", "unix"):
        ends = socket_pair(transport)
    elif transport == "tls":
        path = certificate()
        ends = tuple((end, path) for end in socket_pair(transport))
    elif transport == "flight":
        ends = (free_port(),) * 2
    elif transport == "zmq":
        ends = (f"ipc://{tempfile.mkdtemp()}/s",) * 2
    else:
        ends = (f"tcp://127.0.0.1:{free_port()}",) * 2
    pipes = [context.Pipe(duplex=False) for _ in ends]
    receiving = context.Process(target=receive, args=(transport, ends[0], pipes[0][1]))
    words = (transport, ends[1], large, seconds, pipes[1][1])
    sending = context.Process(target=send_all, args=words)
    receiving.start()
    sending.start()
    latencies, records, used = pipes[0][0].recv()
    used += pipes[1][0].recv()
    receiving.join()
    sending.join()
    return latencies[len(latencies) // 10 :], records, used


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Compare transports between two processes.")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--transports", default=",".join(TRANSPORTS))
    options = parser.parse_args()
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    names = options.transports.split(",")
    for _ in range(options.rounds):
        for name in names:
            latencies, _, used = measure(name, False, options.seconds)
            latencies.sort()
            found[name, "p50 ms"].append(1000 * latencies[len(latencies) // 2])
            found[name, "p99 ms"].append(1000 * latencies[len(latencies) * 99 // 100])
            found[name, "CPU %"].append(100 * used / options.seconds)
            _, records, used = measure(name, True, options.seconds)
            size = len(LARGE) / 1330 / 1e6
            found[name, "MB/s"].append(records * size / options.seconds)
            found[name, "MB per CPU s"].append(records * size / used)
    columns = ["p50 ms", "p99 ms", "CPU %", "MB/s", "MB per CPU s"]
    print("| transport | " + " | ".join(columns) + " |")
    print("| --- " * (1 + len(columns)) + "|")
    for name in names:
        cells = [f"{statistics.median(found[name, column]):,.2f}" for column in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
