"""The keyed-count workload with more or less around it that looks at the job.

    python measured.py SEEN N --checkpoint-dir DIR

``bare`` writes no details for others; ``details`` writes them as every job does; ``scraped`` also
reports to Prometheus and the log, is scraped once a second, and has latency markers. Prints one
JSON line.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
from unittest.mock import patch
from urllib.request import urlopen

from cpu_seconds import cpu_seconds
from discarding_sink import DiscardingSink
from workload import PARALLELISM, keyed_count

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_observer import JobObserver

PERIOD = 1.0
"""Seconds between two scrapes."""


def configuration(checkpoint_dir: str, port: int | None) -> Configuration:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    if port is not None:
        config.set_string("metrics.reporters", "prom, log")
        config.set_string("metrics.reporter.prom.factory.class", "prometheus")
        config.set_string("metrics.reporter.prom.port", str(port))
        config.set_string("metrics.latency.interval", "1 s")
    return config


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def scrape(port: int, end: threading.Event, scrapes: list[int]) -> None:
    while not end.wait(PERIOD):
        try:
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                scrapes.append(len(answer.read()))  # as Prometheus, to the end
        except OSError:  # the job has not begun
            continue


def run(config: Configuration, n: int) -> dict[str, float]:
    """Seconds on the clock, and of the processors: without the compiler, which is another one in
    each virtual machine."""
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    keyed_count(env, n).sink_to(DiscardingSink())
    started = time.perf_counter()
    env.execute("keyed_count")
    seconds = time.perf_counter() - started
    spent = cpu_seconds()
    return {"seconds": seconds, "cpu": spent["python"] + spent["jvm"]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seen", choices=["bare", "details", "scraped"])
    parser.add_argument("n", type=int)
    parser.add_argument("--checkpoint-dir", required=True)
    args = parser.parse_args()
    port = free_port() if args.seen == "scraped" else None
    config = configuration(args.checkpoint_dir, port)
    end, scrapes = threading.Event(), list[int]()
    if port is not None:
        threading.Thread(target=scrape, args=(port, end, scrapes), daemon=True).start()
    if args.seen == "bare":
        with patch("millrace.datastream.job_launcher.JobArchive", lambda *known: JobObserver()):
            ran = run(config, args.n)
    else:
        ran = run(config, args.n)
    end.set()
    print(json.dumps({**ran, "scrapes": len(scrapes), "bytes": max(scrapes, default=0)}))


if __name__ == "__main__":
    main()
