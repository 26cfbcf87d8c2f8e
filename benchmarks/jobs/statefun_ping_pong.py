"""Two embedded functions on different subtasks that send one message to and fro.

    python statefun_ping_pong.py --checkpoint-dir DIR --hops N

Prints one JSON line: the milliseconds of each hop.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import sdk_functions
from statefun_jobs import PARALLELISM, DelaysSink, delays, embedded, environment

from millrace.state.key_groups import key_group_of, subtask_of
from millrace.statefun.data_stream import routable_message
from millrace.statefun.types import STRING, typed

WARM_UP = 1000
"""Hops that do not count."""


def players(max_parallelism: int) -> tuple[str, str]:
    """Ids of different subtasks."""
    by_subtask = {
        subtask_of(key_group_of(str(n), max_parallelism), PARALLELISM, max_parallelism): str(n)
        for n in range(100)
    }
    return by_subtask[0], by_subtask[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", type=Path, required=True)
    parser.add_argument("--hops", type=int, required=True)
    args = parser.parse_args()
    output = args.checkpoint_dir / "delays"
    output.mkdir()
    env = environment(args.checkpoint_dir / "checkpoints").set_max_parallelism(128)
    one, other = players(128)
    ingress = env.from_collection([(one, f"{other} {args.hops + WARM_UP}")]).map(
        lambda game: routable_message("bench/player", game[0], typed(STRING, game[1]))
    )
    egresses = embedded("ping-pong", ingress).build(env)
    told = egresses.get_data_stream_for_egress_id(sdk_functions.DELAYS)
    told.sink_to(DelaysSink(output))
    env.execute("ping-pong")
    hops = delays(output, 0, time.time())
    each = len(hops) // 2  # a file per player
    counted = [*hops[WARM_UP // 2 : each], *hops[each + WARM_UP // 2 :]]
    print(json.dumps({"hops": len(hops), "delays_ms": counted}))


if __name__ == "__main__":
    main()
