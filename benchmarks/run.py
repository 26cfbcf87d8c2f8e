"""Measures speed against the bars and writes ``benchmarks/RESULTS.md``. See ``make bench``.

    python benchmarks/run.py                    all but the two soaks (about half an hour)
    python benchmarks/run.py --only latency     one bar (may be given more than once)
    python benchmarks/run.py --only resident    all bars of resident tasks but resident_soak
    python benchmarks/run.py --only statefun    all bars of Stateful Functions
    python benchmarks/run.py --only graphs      all bars of graphs
    python benchmarks/run.py --report           only write the table from what is there
    python benchmarks/run.py --quick            tiny sizes, to see that everything works

Each bar's raw result is kept in ``benchmarks/results``, so bars can be measured one at a time.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from typing import Any, cast

import affinity
import async_lookups
import checkpoint_files
import columnar_state
import columns_exchanged
import decoding
import dynamic_rules
import epoch_overhead
import graph_library
import graph_streams
import jdbc_upserts
import kafka_latency
import kafka_source
import latency
import leader_kills
import loop_pattern
import loops
import many_jobs
import memory
import memory_per_key
import metrics_overhead
import nexmark
import object_store_checkpoints
import parallelism
import pinned_commit
import pinned_queries
import postgres_changes
import queryable_state
import reading
import rescale
import resident_barriers
import resident_hot_key
import resident_idle
import resident_kafka
import resident_latency
import resident_loops
import resident_losses
import resident_nexmark
import resident_rates
import resident_rescale
import resident_soak
import resident_sql
import rest_load
import restore_2gb
import ring_alerts_delay
import rocksdb_20m
import savepoint
import soak
import sql_first_row
import sql_join
import sql_latency
import sql_match
import sql_parsing
import sql_rescaled_join
import sql_tumble
import sql_udaf
import sql_udf
import startup
import state_bytes
import state_growth
import statefun_checkpoint
import statefun_embedded
import statefun_ping_pong
import statefun_remote
import typed_checks
import vectorised
import web_ui
from bar import Bar
from job_process import BENCHMARKS, RESULTS, MeasurementError
from machine import description
from report import VERDICTS, render
from results_store import load, save
from throughput import WORKLOADS, ThroughputBar

BARS: dict[str, Bar] = {
    **{workload.key: ThroughputBar(workload) for workload in WORKLOADS},
    **{
        module.__name__: cast(Bar, module)
        for module in (
            pinned_commit,
            pinned_queries,
            epoch_overhead,
            metrics_overhead,
            parallelism,
            latency,
            resident_latency,
            resident_barriers,
            resident_rates,
            resident_sql,
            resident_rescale,
            resident_nexmark,
            resident_hot_key,
            resident_idle,
            resident_kafka,
            resident_loops,
            resident_losses,
            statefun_remote,
            statefun_embedded,
            statefun_ping_pong,
            statefun_checkpoint,
            graph_library,
            graph_streams,
            ring_alerts_delay,
            startup,
            sql_first_row,
            memory,
            memory_per_key,
            state_growth,
            state_bytes,
            checkpoint_files,
            object_store_checkpoints,
            affinity,
            vectorised,
            columnar_state,
            columns_exchanged,
            jdbc_upserts,
            kafka_source,
            kafka_latency,
            postgres_changes,
            sql_parsing,
            sql_tumble,
            sql_join,
            sql_latency,
            sql_match,
            sql_rescaled_join,
            sql_udaf,
            sql_udf,
            nexmark,
            typed_checks,
            reading,
            async_lookups,
            loop_pattern,
            loops,
            decoding,
            dynamic_rules,
            queryable_state,
            rescale,
            savepoint,
            rocksdb_20m,
            restore_2gb,
            web_ui,
            rest_load,
            many_jobs,
            leader_kills,
            soak,
            resident_soak,
        )
    },
}


WHEN_NAMED = frozenset({"soak", "resident_soak"})
"""They take too long to run each time."""
GROUPS = {
    group: [name for name in BARS if name.startswith(f"{group}_") and name not in WHEN_NAMED]
    for group in ("resident", "statefun")
} | {"graphs": [name for name in BARS if name.startswith("graph_")]}
"""Bars that have a name together."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=[*BARS, *GROUPS], default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    return parser.parse_args()


def measure(name: str, quick: bool) -> dict[str, Any]:
    """Measure one bar. Whatever goes wrong is a result too: the other bars must not suffer."""
    machine = description()
    started = time.perf_counter()
    result: dict[str, Any] = {"machine": machine}
    try:
        result["data"] = BARS[name].measure(quick)
    except MeasurementError as error:
        result["error"] = str(error)
    except Exception as error:
        traceback.print_exc()
        result["error"] = f"{type(error).__name__}: {error}"
    return {**result, "seconds": time.perf_counter() - started}


def tell(name: str, result: dict[str, Any]) -> None:
    """Say on the terminal how a bar went."""
    print(f"{name}: {result['seconds']:.0f} s", flush=True)
    if "error" in result:
        print(f"  failed: {result['error']}", flush=True)
        return
    for row in BARS[name].section(result["data"]).rows:
        print(f"  {row.bar}: {row.measured} (bar: {row.required}) {VERDICTS[row.reached]}")


def main() -> int:
    args = arguments()
    failed = False
    by_default = [name for name in BARS if name not in WHEN_NAMED]
    named = [name for given in args.only for name in GROUPS.get(given, [given])]
    for name in [] if args.report else named or by_default:
        print(f"measuring {name} ...", flush=True)
        result = measure(name, args.quick)
        save(name, result, args.quick)
        tell(name, result)
        failed |= "error" in result
    results = load(BARS, args.quick)
    target = RESULTS / "quick" / "RESULTS.md" if args.quick else BENCHMARKS / "RESULTS.md"
    target.write_text(render(BARS, results), encoding="utf-8")
    print(f"written: {target}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
