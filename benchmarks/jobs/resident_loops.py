"""A loop on resident tasks in which each record goes round a given number of times.

    python resident_loops.py --checkpoint-dir DIR --records N --rounds FEW MANY [--executor NAME]

Every hop is a keyed exchange between two subtasks, a function and a filter. A checkpoint each
second, default options. After a small run that does not count, it runs with few and with many
rounds: the difference is hops only. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from discarding_sink import DiscardingSink

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

PARALLELISM = 2
PRIME = 2_654_435_761
KEYS = 50_021


def one_less(value: tuple[int, int]) -> tuple[int, int]:
    key, rounds = value
    return (key * PRIME + 1) % KEYS, rounds - 1


def timed(directory: Path, executor: str, records: int, rounds: int) -> float:
    """Seconds of a job."""
    config = Configuration()
    options = {
        "spark.master": "local[4,1000000]",
        "millrace.executor": executor,
        "execution.checkpointing.dir": str(directory),
        "execution.checkpointing.interval": "1 s",
    }
    for key, value in options.items():
        config.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    source = NumberSequenceSource(1, records)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    loop = numbers.map(lambda n: (n % KEYS, rounds)).iterate()
    gone_round = loop.key_by(lambda value: value[0]).map(one_less)
    loop.close_with(gone_round.filter(lambda value: value[1] > 0))
    gone_round.filter(lambda value: value[1] <= 0).sink_to(DiscardingSink())
    started = time.perf_counter()
    env.execute("loops")
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", type=Path, required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--rounds", type=int, nargs=2, required=True)
    parser.add_argument("--executor", default="resident")
    args = parser.parse_args()
    few, many = args.rounds
    timed(args.checkpoint_dir / "warm-up", args.executor, args.records, 2)
    first, second = (
        timed(args.checkpoint_dir / str(rounds), args.executor, args.records, rounds)
        for rounds in (few, many)
    )
    hops = args.records * (many - few)
    print(json.dumps({"hops": hops, "seconds": second - first, "few": first, "many": second}))


if __name__ == "__main__":
    main()
