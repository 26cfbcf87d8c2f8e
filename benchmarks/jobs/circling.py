"""A loop in which the same number of records goes round in every epoch; tells how each epoch went.

    python circling.py --checkpoint-dir DIR --records N --rounds R

Every round is a keyed exchange and one epoch. Checkpoints every second. Prints one JSON line: the
seconds of each epoch in which all records went round, and the driver's resident memory after it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

from discarding_sink import DiscardingSink
from memory_sample import resident

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

PRIME = 2_654_435_761
KEYS = 50_021


def one_less(value: tuple[int, int]) -> tuple[int, int]:
    key, rounds = value
    return key * PRIME % KEYS, rounds - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    args = parser.parse_args()
    config = Configuration()
    config.set_string("execution.checkpointing.dir", args.checkpoint_dir)
    config.set_string("spark.master", "local[2,4]")
    config.set_string("millrace.epoch.max-records-per-split", str(args.records))
    config.set_string("millrace.epoch.initial-records-per-split", str(args.records))
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
    rounds = args.rounds
    source = NumberSequenceSource(1, args.records)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    loop = numbers.map(lambda n: (n % KEYS, rounds)).iterate()
    gone_round = loop.key_by(lambda value: value[0]).map(one_less)
    loop.close_with(gone_round.filter(lambda value: value[1] > 0))
    gone_round.filter(lambda value: value[1] <= 0).sink_to(DiscardingSink())
    seconds: list[float] = []
    memory: list[int] = []
    last = [time.perf_counter()]

    def note(progress: Any) -> None:
        now = time.perf_counter()
        seconds.append(now - last[0])
        memory.append(resident(os.getpid()))
        last[0] = now

    env.launcher.listeners.append(note)
    env.execute("circling")
    # the first epochs read the source, the last ones end the loop
    print(json.dumps({"seconds": seconds[2:rounds], "driver": memory[2:rounds]}))


if __name__ == "__main__":
    main()
