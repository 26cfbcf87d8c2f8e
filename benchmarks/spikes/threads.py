"""Threads of a worker process, compared: what a resident task does beside user code.

Two worker processes hold subtasks and exchange records over loopback. A third process sends each of
them 200 probe records a second, and the load to the first one only. Variants:

    loop     one thread: sockets, timers and operators; a second thread only sends heartbeats
    threads  a thread for sockets and heartbeats, a thread for operators, switch interval 0.5 ms
    helper   a process for sockets and heartbeats, a process for operators, a Unix socket between
    each     a thread for sockets, and a thread for each subtask (for comparison only)

Printed for each load and variant: the latency of probes at a subtask of the loaded process and of
the other process, the longest pause between heartbeats, and the records per second of a busy keyed
count.

    python benchmarks/spikes/threads.py --seconds 4 --rounds 3 --loads idle,rate
"""

from __future__ import annotations

import argparse
import marshal
import multiprocessing
import os
import random
import selectors
import socket
import statistics
import struct
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol

VARIANTS = ("loop", "threads", "helper", "each")
HEARTBEAT = 0.1
PROBES_PER_SECOND = 200
ROOM = 1 << 18
"""Bytes that may wait before a reader or a writer."""
HEADER = struct.Struct("<IBBH")
"""Length of the body, kind, worker it comes from or goes to, subtask."""
PROBE, SLOW, DATA, END = range(4)
DRIVER = 2
STAMP = struct.Struct("<d")
Frame = tuple[int, int, int, bytes]
"""Kind, worker, subtask and body."""

# kind of load: calls per second, records per call
LOADS: dict[str, tuple[float, int]] = {
    "idle": (0, 0),
    "sleep 10 ms": (50, 1),
    "compute 10 ms": (50, 1),
    "hold the GIL 200 ms": (1, 1),
    "blocking flush 100 ms": (2, 1),
    "100 records of 1 ms": (4, 100),
    "100 records of 1 ms; cut at 5 ms": (4, 100),
    "32 subtasks": (0, 0),
    "rate": (0, 0),
}


class Sockets:
    """Frames over sockets that never block."""

    def __init__(self, peers: dict[int, socket.socket]) -> None:
        self._peers = peers
        self._selector = selectors.DefaultSelector()
        self._input = {peer: bytearray() for peer in peers}
        self._output: dict[int, deque[memoryview]] = {peer: deque() for peer in peers}
        self.waiting = 0
        for peer, end in peers.items():
            end.setblocking(False)
            self._selector.register(end, selectors.EVENT_READ, peer)

    def register(self, end: socket.socket) -> None:
        """A descriptor that only wakes the loop."""
        end.setblocking(False)
        self._selector.register(end, selectors.EVENT_READ, None)

    def send(self, peer: int, data: bytes) -> None:
        """Send now what the socket takes, the rest as it becomes writable."""
        queue = self._output[peer]
        queue.append(memoryview(data))
        self.waiting += len(data)
        if len(queue) == 1:
            self._write(peer)
            if queue:
                self._select(peer)

    def _write(self, peer: int) -> None:
        queue = self._output[peer]
        while queue:
            try:
                count = self._peers[peer].send(queue[0])
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                count = len(queue[0])
            self.waiting -= count
            if count == len(queue[0]):
                queue.popleft()
            else:
                queue[0] = queue[0][count:]

    def _select(self, peer: int) -> None:
        events = selectors.EVENT_WRITE if self._output[peer] else 0
        self._selector.modify(self._peers[peer], selectors.EVENT_READ | events, peer)

    def poll(self, timeout: float) -> Iterator[Frame]:
        """Frames that have arrived whole."""
        for key, events in self._selector.select(timeout):
            if key.data is None:
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.recv(4096)
                continue
            peer: int = key.data
            if events & selectors.EVENT_WRITE:
                self._write(peer)
                self._select(peer)
            elif events & selectors.EVENT_READ:
                yield from self._read(peer)

    def _read(self, peer: int) -> Iterator[Frame]:
        try:
            data = self._peers[peer].recv(1 << 16)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._selector.unregister(self._peers[peer])
            return
        buffer = self._input[peer]
        buffer += data
        position = 0
        while len(buffer) - position >= HEADER.size:
            length, kind, worker, subtask = HEADER.unpack_from(buffer, position)
            end = position + HEADER.size + length
            if end > len(buffer):
                break
            yield kind, worker, subtask, bytes(buffer[position + HEADER.size : end])
            position = end
        del buffer[:position]


class Transport(Protocol):
    """What operators see of the variants."""

    def receive(self, timeout: float) -> Iterator[Frame]: ...
    def send(self, worker: int, subtask: int, data: bytes) -> None: ...
    def full(self) -> bool: ...


class OneLoop:
    """Sockets in the thread of the operators."""

    def __init__(self, peers: dict[int, socket.socket]) -> None:
        self._sockets = Sockets(peers)
        self.receive = self._sockets.poll

    def send(self, worker: int, subtask: int, data: bytes) -> None:
        self._sockets.send(worker, HEADER.pack(len(data), DATA, worker, subtask) + data)

    def full(self) -> bool:
        return self._sockets.waiting > ROOM


class Threads:
    """Sockets in a thread; operators wait for a queue."""

    def __init__(self, peers: dict[int, socket.socket]) -> None:
        self._sockets = Sockets(peers)
        self._wake, wakes = socket.socketpair()
        self._sockets.register(wakes)
        self._input: deque[Frame] = deque()
        self._output: deque[tuple[int, bytes]] = deque()
        self._arrived = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            # a bound in frames is enough here: a frame has at most some 16 KB
            wait = 0.05 if len(self._input) < 64 else None
            if wait is None:
                time.sleep(0.001)
            else:
                arrived = list(self._sockets.poll(wait))
                if arrived:
                    self._input.extend(arrived)
                    self._arrived.set()
            while self._output and self._sockets.waiting < ROOM:
                self._sockets.send(*self._output.popleft())

    def receive(self, timeout: float) -> Iterator[Frame]:
        if not self._input and timeout > 0:
            self._arrived.wait(timeout)
        self._arrived.clear()
        while self._input:
            yield self._input.popleft()

    def send(self, worker: int, subtask: int, data: bytes) -> None:
        self._output.append((worker, HEADER.pack(len(data), DATA, worker, subtask) + data))
        if len(self._output) == 1:
            with suppress(BlockingIOError):
                self._wake.send(b"w")

    def full(self) -> bool:
        return len(self._output) > 64


class Helper:
    """Sockets in a process; one Unix socket leads to it."""

    def __init__(self, peers: dict[int, socket.socket], heart: socket.socket) -> None:
        ours, theirs = socket.socketpair()
        self.helper = os.fork()
        if self.helper == 0:
            ours.close()
            relay(peers, theirs, heart)
        theirs.close()
        for end in peers.values():
            end.close()
        self._sockets = Sockets({0: ours})
        self.receive = self._sockets.poll

    def send(self, worker: int, subtask: int, data: bytes) -> None:
        self._sockets.send(0, HEADER.pack(len(data), DATA, worker, subtask) + data)

    def full(self) -> bool:
        return self._sockets.waiting > ROOM


def relay(peers: dict[int, socket.socket], operators: socket.socket, heart: socket.socket) -> None:
    """Carry frames between peers and the process of the operators, until that ends."""
    outer = Sockets(peers | {9: operators})
    own = 1 - min(peers)
    beat = 0.0
    parent = os.getppid()
    while os.getppid() == parent:
        for kind, worker, subtask, body in outer.poll(0.05):
            target = 9 if worker == own else worker
            outer.send(target, HEADER.pack(len(body), kind, worker, subtask) + body)
        now = time.monotonic()
        if now >= beat + HEARTBEAT:
            beat = now
            heart.send(STAMP.pack(now))
    os._exit(0)


def send_heartbeats(heart: socket.socket) -> None:
    """The only thing that a heartbeat thread does."""
    while True:
        heart.send(STAMP.pack(time.monotonic()))
        time.sleep(HEARTBEAT)


def compute(seconds: float) -> None:
    """Python code that takes the processor for a time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(200))


def slow_function(load: str) -> Callable[[], Any]:
    """The user's function for a kind of load."""
    if load == "sleep 10 ms":
        return lambda: time.sleep(0.01)
    if load == "compute 10 ms":
        return lambda: compute(0.01)
    if load.startswith("100 records"):
        return lambda: compute(0.001)
    if load == "blocking flush 100 ms":
        silent, _kept = socket.socketpair()
        silent.settimeout(0.1)

        def flush(kept: socket.socket = _kept) -> None:
            try:
                silent.recv(1)
            except TimeoutError:
                return

        return flush
    numbers = [random.random() for _ in range(150_000)]
    start = time.monotonic()
    sorted(numbers)
    numbers *= max(1, round(0.2 / (time.monotonic() - start)))
    random.shuffle(numbers)
    return lambda: sorted(numbers)


class Worker:
    """Subtasks of one process. Subtask 0 counts or is slow, the last one takes probes."""

    def __init__(self, number: int, load: str, transport: Transport) -> None:
        self.number = number
        self.load = load
        self.transport = transport
        self.latencies: list[float] = []
        self.counted = 0
        self.ended = False
        self._slow: deque[int] = deque()
        self._function = slow_function(load) if number == 0 and LOADS[load][0] else None
        self._cut = 0.005 if "cut" in load else float("inf")
        self._counts: defaultdict[int, dict[int, tuple[int, float]]] = defaultdict(dict)
        self._next_key = number
        self._next_buffer = 0.0

    def on_frame(self, frame: Frame) -> None:
        """Hand a frame to its subtask."""
        kind, _, subtask, body = frame
        if kind == PROBE:
            self.latencies.append(time.monotonic() - STAMP.unpack_from(body)[0])
        elif kind == DATA:
            counts = self._counts[subtask]
            records = marshal.loads(body)
            for key, time_of_event in records:
                count, latest = counts.get(key, (0, 0.0))
                counts[key] = (count + 1, max(latest, time_of_event))
            self.counted += len(records)
        elif kind == SLOW:
            self._slow.extend(body)
        elif kind == END:
            self.ended = True

    def work(self) -> None:
        """What no frame asks for: slow records that wait, sources."""
        end = time.monotonic() + self._cut
        while self._slow:
            assert self._function is not None
            self._slow.popleft()
            self._function()
            if time.monotonic() > end:
                break
        if self.load == "rate" and not self.transport.full():
            self._produce(1000, 1)
        elif self.load == "32 subtasks" and time.monotonic() >= self._next_buffer:
            self._next_buffer = time.monotonic() + 0.005
            self._produce(5, 16)

    def _produce(self, count: int, subtasks: int) -> None:
        """Records of a source, to the subtasks of both processes."""
        targets: list[list[tuple[int, float]]] = [[] for _ in range(2 * subtasks)]
        key = self._next_key
        now = time.time()
        for _ in range(count):
            key = (key * 1103515245 + 12345) & 0x7FFFFFFF
            targets[(key >> 8) % len(targets)].append(((key >> 12) % 1000, now))
        self._next_key = key
        for target, records in enumerate(targets):
            worker, subtask = target % 2, target // 2
            if not records:
                continue
            if worker == self.number:
                self.on_frame((DATA, worker, subtask, marshal.dumps(records)))
            else:
                self.transport.send(worker, subtask, marshal.dumps(records))

    def wait(self) -> float:
        """Seconds that the loop may sleep."""
        if self._slow or (self.load == "rate" and not self.transport.full()):
            return 0.0
        if self.load == "32 subtasks":
            return max(0.0, self._next_buffer - time.monotonic())
        return 0.05

    def run(self) -> None:
        """The loop of the operators."""
        while not self.ended:
            for frame in self.transport.receive(self.wait()):
                self.on_frame(frame)
            self.work()


class ThreadEach(Worker):
    """A thread for the slow subtask, one for the source, one for all that is left."""

    def run(self) -> None:
        threading.Thread(target=self._others, daemon=True).start()
        while not self.ended:
            for frame in self.transport.receive(0.05):
                self.on_frame(frame)

    def _others(self) -> None:
        while not self.ended:
            self.work()
            wait = self.wait()
            if wait or self.transport.full():
                time.sleep(min(wait, 0.001) or 0.001)


def processor_seconds(transport: Transport) -> float:
    """Processor time of this process and its helper."""
    seconds = time.process_time()
    if isinstance(transport, Helper):
        with open(f"/proc/{transport.helper}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def run_worker(
    number: int, variant: str, load: str, sockets: dict[int, socket.socket],
    heart: socket.socket, results: Connection,
) -> None:  # fmt: skip
    """A worker process."""
    transport: Transport
    if variant == "helper":
        transport = Helper(sockets, heart)
    else:
        if variant != "loop":
            sys.setswitchinterval(0.0005)
        threading.Thread(target=send_heartbeats, args=(heart,), daemon=True).start()
        transport = OneLoop(sockets) if variant == "loop" else Threads(sockets)
    worker = (ThreadEach if variant == "each" else Worker)(number, load, transport)
    results.send("ready")
    before = processor_seconds(transport)
    worker.run()
    results.send((worker.latencies, worker.counted, processor_seconds(transport) - before))
    results.close()
    os._exit(0)


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        two, _ = server.accept()
    for end in (one, two):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one, two


def generate(
    load: str, seconds: float, drivers: list[socket.socket], hearts: list[socket.socket]
) -> list[float]:
    """Send probes and load by the clock; longest pause between heartbeats of each worker."""
    calls, records = LOADS[load]
    start = time.monotonic()
    probe, call = start, start
    draws = random.Random(7)
    beats: list[list[float]] = [[] for _ in hearts]
    while (now := time.monotonic()) < start + seconds:
        while probe <= now:
            body = STAMP.pack(probe).ljust(200, b"p")
            for number, end in enumerate(drivers):
                end.sendall(HEADER.pack(len(body), PROBE, number, 15) + body)
            probe += draws.uniform(0, 2 / PROBES_PER_SECOND)
        if calls and call <= now:
            drivers[0].sendall(HEADER.pack(records, SLOW, 0, 0) + bytes(records))
            call += 1 / calls
        for number, heart in enumerate(hearts):
            try:
                data = heart.recv(4096)
            except BlockingIOError:
                continue
            beats[number].extend(stamp for (stamp,) in STAMP.iter_unpack(data))
        time.sleep(max(0.0, probe - time.monotonic()))
    for number, end in enumerate(drivers):
        end.sendall(HEADER.pack(0, END, number, 0))
    return [max(b - a for a, b in zip(times, [*times[1:], now], strict=True)) for times in beats]


def measure(variant: str, load: str, seconds: float) -> dict[str, float]:
    """One run."""
    context = multiprocessing.get_context("fork")
    between = tcp_pair()
    to_workers = [tcp_pair() for _ in between]
    beating = [tcp_pair() for _ in between]
    pipes = [context.Pipe() for _ in between]
    processes = []
    for number in (0, 1):
        sockets = {1 - number: between[number], DRIVER: to_workers[number][1]}
        words = (number, variant, load, sockets, beating[number][1], pipes[number][1])
        process = context.Process(target=run_worker, args=words)
        process.start()
        processes.append(process)
    for receiver, _ in pipes:
        receiver.recv()
    for heart, _ in beating:
        heart.setblocking(False)
    pauses = generate(load, seconds, [a for a, _ in to_workers], [a for a, _ in beating])
    results = [receiver.recv() for receiver, _ in pipes]
    for process in processes:
        process.join()
    figures = {"pause ms": 1000 * max(pauses), "records/s": sum(r[1] for r in results) / seconds}
    # the fair measure on a machine with other work, which gives more threads more of the processors
    used = sum(r[2] for r in results)
    figures["CPU %"] = 100 * used / seconds
    figures["records per CPU s"] = sum(r[1] for r in results) / used
    for place, (latencies, _, _) in zip(("same", "other"), results, strict=True):
        cut = sorted(latencies[len(latencies) // 10 :])
        figures[f"{place} p50"] = 1000 * cut[len(cut) // 2]
        figures[f"{place} p99"] = 1000 * cut[len(cut) * 99 // 100]
    return figures


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Compare the threads of a worker process.")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--loads", default=",".join(LOADS), help="names")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    options = parser.parse_args()
    loads = [load for load in LOADS if any(load == w for w in options.loads.split(","))]
    columns = [
        "same p50",
        "same p99",
        "other p50",
        "other p99",
        "pause ms",
        "CPU %",
        "records per CPU s",
    ]
    print("| load | variant | " + " | ".join(columns) + " |")
    print("| --- " * (2 + len(columns)) + "|", flush=True)
    for load in loads:
        runs: dict[str, list[dict[str, float]]] = defaultdict(list)
        for _ in range(options.rounds):
            for variant in options.variants.split(","):
                runs[variant].append(measure(variant, load, options.seconds))
        for variant, found in runs.items():
            cells = [f"{statistics.median(run[c] for run in found):,.1f}" for c in columns]
            print(f"| {load} | {variant} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
