"""Stateful Functions whose messages go from address to address.

    python statefun_counts.py --checkpoint-dir DIR --messages M --rounds FEW MANY [--remote]

M messages circulate among 1,000 addresses. For each, a function reads and writes an integer and
sends one message, half of them to the other subtask. With ``--remote`` the functions are in a
process of their own, behind HTTP on loopback. After a small run that does not count, it runs with
few and with many rounds: the difference is invocations only. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import sdk_functions
from discarding_sink import DiscardingSink
from statefun_jobs import BATCH, embedded, environment

from millrace.common import WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.statefun.data_stream import (
    RequestReplyFunctionBuilder,
    StatefulFunctionDataStreamBuilder,
    routable_message,
)
from millrace.statefun.types import INT, typed


def timed(directory: Path, messages: int, rounds: int, url: str | None) -> float:
    """Seconds of a job."""
    env = environment(directory)
    source = NumberSequenceSource(0, messages - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    count = sdk_functions.ADDRESSES
    ingress = numbers.map(
        lambda n: routable_message("bench/counter", str(n % count), typed(INT, rounds - 1))
    )
    builder = embedded("counts", ingress) if url is None else remote(url, ingress)
    egresses = builder.build(env)
    egresses.get_data_stream_for_egress_id(sdk_functions.DELAYS).sink_to(DiscardingSink())
    started = time.perf_counter()
    env.execute("counts")
    return time.perf_counter() - started


def remote(url: str, ingress: Any) -> StatefulFunctionDataStreamBuilder:
    """Builder of the functions behind a URL."""
    builder = StatefulFunctionDataStreamBuilder.builder("counts")
    builder.with_data_stream_as_ingress(ingress)
    endpoint = RequestReplyFunctionBuilder("bench/*", url).with_max_num_batch_requests(BATCH)
    builder.with_request_reply_remote_function(endpoint)
    return builder.with_egress_id(sdk_functions.DELAYS)


def cpu(process: psutil.Process | None) -> float:
    """Processor time of the functions' process in seconds."""
    return 0.0 if process is None else sum(process.cpu_times()[:2])


def run(args: argparse.Namespace, server: psutil.Process | None, url: str | None) -> dict[str, Any]:
    few, many = args.rounds
    timed(args.checkpoint_dir / "warm-up", args.messages, 2, url)
    first = timed(args.checkpoint_dir / "few", args.messages, few, url)
    before = cpu(server)
    second = timed(args.checkpoint_dir / "many", args.messages, many, url)
    return {
        "invocations": args.messages * (many - few),
        "seconds": second - first,
        "few": first,
        "many": second,
        "function_cpu_us": 1e6 * (cpu(server) - before) / (args.messages * many),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", type=Path, required=True)
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--rounds", type=int, nargs=2, required=True)
    parser.add_argument("--remote", action="store_true")
    args = parser.parse_args()
    if not args.remote:
        print(json.dumps(run(args, None, None)))
        return
    command = [sys.executable, sdk_functions.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        try:
            print(json.dumps(run(args, psutil.Process(process.pid), url)))
        finally:
            process.kill()


if __name__ == "__main__":
    main()
