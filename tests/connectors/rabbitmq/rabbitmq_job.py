"""A queue of RabbitMQ into files, exactly once by correlation ids, without end.

Usage: ``rabbitmq_job.py URL QUEUE DIRECTORY``. Resumes what it finds.
"""

from __future__ import annotations

import sys
from functools import partial

from resumed_job import SMALL_EPOCHS, run_resumed
from wall_clock import WallClock

from millrace.common import Encoder, SimpleStringSchema
from millrace.connectors import FileSink, RollingPolicy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSource


def build(env: StreamExecutionEnvironment, url: str, queue: str, directory: str) -> None:
    config = RMQConnectionConfig.Builder().set_uri(url).set_prefetch_count(200).build()
    read = env.add_source(RMQSource(config, queue, True, SimpleStringSchema()), "queue")
    sink = (
        FileSink.for_row_format(f"{directory}/out", Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    read.uid("read").sink_to(sink).uid("write")


def main(url: str, queue: str, directory: str) -> None:
    settings = {
        "execution.checkpointing.dir": f"{directory}/checkpoints",
        "execution.checkpointing.interval": "30 ms",
        **SMALL_EPOCHS,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "100",
        "restart-strategy.fixed-delay.delay": "200 ms",
    }
    build_it = partial(build, url=url, queue=queue, directory=directory)
    run_resumed("queue-to-files", build_it, settings, parallelism=1, clock=WallClock())


if __name__ == "__main__":
    main(*sys.argv[1:])
