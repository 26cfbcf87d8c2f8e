"""Invocations per second of functions of Flink's Python SDK behind HTTP on loopback, beside
Stateful Functions' own runtime."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import MeasurementError
from statefun_counts_runs import MESSAGES, RUNS, measured, rate_of, rated
from statefun_peer_runs import TRANSPORTS, VERSION, peer_rate

TITLE = "Stateful Functions: remote"
PER_SECOND = 10_000
ADDRESSES, BATCH = 1000, 8


def measure(quick: bool) -> Data:
    rounds, runs = ((3, 10), 1) if quick else ((20, 120), RUNS)
    data: Data = {"runs": [], "peer": [], "peer_error": ""}
    for _ in range(runs):
        data["runs"].append(measured(rounds, "--remote"))
        for transport in TRANSPORTS if not data["peer_error"] else ():
            try:
                peer = peer_rate(transport, MESSAGES, ADDRESSES, rounds, BATCH)
            except MeasurementError as error:
                data["peer_error"] = str(error)
            else:
                data["peer"].append(peer)
    return data


def section(data: Data) -> Section:
    name = "remote functions, 1,000 addresses, at most 8 messages in a batch: invocations per s"
    text = (
        f"As the embedded ones: {MESSAGES:,} messages go round among 1,000 addresses, on two "
        "subtasks. The functions are in a third process on the same processors, behind a server of "
        "asyncio and httptools."
    )
    ours = rated(data, name, PER_SECOND, text)
    compared = _beside_peer(data, rate_of(data["runs"]))
    return Section([*ours.rows, *compared.rows], [*ours.details, *compared.details])


def _beside_peer(data: Data, rate: float) -> Section:
    """Row and details of Stateful Functions' own runtime, with the faster transport."""
    runs = {
        transport: [run for run in data.get("peer", ()) if run["transport"] == transport]
        for transport in TRANSPORTS
    }
    rates = {transport: rate_of(done) for transport, done in runs.items() if done}
    name = f"remote functions, against Stateful Functions {VERSION} with the faster transport"
    if not rates:
        reason = data.get("peer_error") or "it was not measured"
        return Section([Row(name, "1.00 times", "-", None)], [f"No runtime to compare: {reason}."])
    ratio = rate / max(rates.values())
    text = (
        f"Stateful Functions {VERSION} on Flink 1.16: one JVM of 1 GB, two subtasks, state on the "
        "heap, a checkpoint each second, the same server of functions, runs in turn. The functions "
        "count their invocations; those of the few rounds do not count."
    )
    lines = [
        [transport, f"{rates[transport]:,.0f}", f"{_cpu(runs[transport]):.0f}"]
        for transport in rates
    ]
    header = ["its transport", "invocations per s", "µs of a processor in the functions, each"]
    row = Row(name, "1.00 times", f"{ratio:.2f} times", ratio >= 1)
    return Section([row], [text, table(header, lines)])


def _cpu(runs: list[Data]) -> float:
    return median(run["function_cpu_us"] for run in runs)
