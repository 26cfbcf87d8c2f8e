"""A job on resident tasks that runs for a long time, and what its processes hold meanwhile.

    python resident_soak.py --checkpoint-dir DIR --barriers N [--rate R] [--every S]
    python resident_soak.py --checkpoint-dir DIR --seconds S [--rate R] [--every S]

Keyed state, a window, an exactly-once file sink, and a checkpoint each second. With ``--barriers``
a barrier follows the other as soon as the driver allows, until there were so many. With
``--seconds`` the job has its default barriers. Samples are printed to stderr as they are taken. The
last line is JSON: ``samples`` (see `Samples.take`), ``read`` and ``written``, the records that
the source read and the records that committed windows counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from memory_sample import sample as sample_of_memory

from millrace.common import Configuration, Encoder, Time, Types, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.engine.embedded_job_client import EmbeddedJobClient

PARALLELISM = 2
KEYS = 1_000
WINDOW_KEYS = 50
SETTLED_S = 30.0
"""Age of a committed file at which nothing can ask for it any more."""
MIB = 1 << 20


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value % WINDOW_KEYS, 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--barriers", type=int)
    length.add_argument("--seconds", type=float)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two samples")
    return parser.parse_args()


def client_of(args: argparse.Namespace, root: Path) -> EmbeddedJobClient:
    options = {
        "execution.checkpointing.dir": str(root / "checkpoints"),
        "execution.checkpointing.savepoint-dir": str(root / "savepoints"),
        "execution.checkpointing.interval": "1 s",
        "millrace.executor": "resident",
        "spark.local.dir": str(root / "scratch"),
    }
    if args.barriers is not None:
        options["millrace.resident.barrier-interval"] = "1 ms"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    env.set_parallelism(PARALLELISM)
    source = DataGeneratorSource(
        lambda i: i,
        rate_limiter_strategy=RateLimiterStrategy.per_second(args.rate),
        splits=PARALLELISM,
        timestamped=True,
    )
    monotonous: WatermarkStrategy[Any] = WatermarkStrategy.for_monotonous_timestamps()
    counted = env.from_source(source, monotonous, "numbers").key_by(lambda i: i % KEYS)
    windows = counted.process(Count()).uid("count").key_by(lambda pair: pair[0])
    sums = windows.window(TumblingEventTimeWindows.of(Time.seconds(1)))
    totals = sums.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")
    sink = FileSink.for_row_format(str(root / "out"), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    totals.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()).sink_to(sink.build())
    return env.build_client("soak")


class Output:
    """Counts the records of committed windows, and removes their files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.records = 0

    def take(self, settled: float = SETTLED_S) -> None:
        """Count and remove the committed files that are older than so many seconds."""
        latest = time.time() - settled
        for entry in list(os.scandir(self._directory)) if self._directory.exists() else []:
            if entry.name.startswith((".", "_")) or entry.stat().st_mtime > latest:
                continue
            lines = Path(entry.path).read_text().splitlines()
            self.records += sum(int(line.partition(" ")[2]) for line in lines)
            os.unlink(entry.path)


class Samples:
    """What the job's processes and directories hold, over time."""

    def __init__(self, client: EmbeddedJobClient, root: Path) -> None:
        self._client = client
        self._root = root
        self._began = time.monotonic()
        self.taken: list[dict[str, Any]] = []

    def take(self) -> None:
        """Take a sample: memory in MiB, numbers of open files, sockets, threads of the processes,
        numbers of files on disk."""
        progress = self._client.progress()
        memory = sample_of_memory()
        own = psutil.Process()
        below = own.children(recursive=True)
        machines = {process for process in below if _is_java(process)}
        self.taken.append(
            {
                "seconds": round(time.monotonic() - self._began, 1),
                "barriers": progress.epochs,
                "checkpoints": progress.checkpoints.completed,
                "restarts": progress.restarts,
                "heap": round(memory["jvm_heap"] / MIB, 2),
                "driver": _usage({own}),
                "jvm": _usage(machines),
                "workers": _usage(set(below) - machines),
                "checkpoint files": _files(self._root / "checkpoints"),
                "scratch files": _files(self._root / "scratch"),
                "hidden output files": _files(self._root / "out", hidden=True),
            }
        )
        print(json.dumps(self.taken[-1]), file=sys.stderr, flush=True)


def _is_java(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.name() == "java")
    return False


def _usage(processes: set[psutil.Process]) -> dict[str, float]:
    mib = 0.0
    files = sockets = threads = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess, OSError):
            mib += process.memory_info().rss / MIB
            threads += process.num_threads()
            is_socket = [target.startswith("socket:") for target in _open_files(process.pid)]
            sockets += sum(is_socket)
            files += len(is_socket) - sum(is_socket)
    return {"mib": round(mib, 2), "files": files, "sockets": sockets, "threads": threads}


def _open_files(pid: int) -> list[str]:
    targets = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):  # closed meanwhile
            targets.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
    return targets


def _files(directory: Path, hidden: bool = False) -> int:
    """Number of files below a directory."""
    names = (name for _, _, names in os.walk(directory) for name in names)
    return sum(not hidden or name.startswith(".") for name in names)


def run(args: argparse.Namespace, client: EmbeddedJobClient, root: Path) -> dict[str, Any]:
    """Take samples until the job has run for long enough, then end it and count its output."""
    began = time.monotonic()
    samples, output = Samples(client, root), Output(root / "out")

    def is_over() -> bool:
        if args.barriers is not None:
            return client.progress().epochs >= args.barriers
        return time.monotonic() - began >= float(args.seconds)

    next_sample = began
    while not is_over():
        if client.get_job_execution_result().done():
            client.result()
            raise SystemExit("the job has ended by itself")
        if time.monotonic() >= next_sample:
            samples.take()
            next_sample += args.every
        output.take()
        time.sleep(min(1.0, max(0.01, next_sample - time.monotonic())))
    samples.take()
    client.stop_with_savepoint(advance_to_end_of_event_time=True).result(120)
    output.take(settled=0)
    read = client.progress().records
    return {"samples": samples.taken, "read": read, "written": output.records}


def main() -> None:
    args = arguments()
    root = Path(args.checkpoint_dir)
    (root / "scratch").mkdir()
    os.environ["TMPDIR"] = str(root / "scratch")  # of the JVM's and all workers' files, too
    tempfile.tempdir = None
    client = client_of(args, root).start()
    while not client.progress().epochs:
        if client.get_job_execution_result().done():
            client.result()
        time.sleep(0.1)
    print(json.dumps(run(args, client, root)))


if __name__ == "__main__":
    main()
