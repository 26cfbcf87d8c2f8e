"""The job of the smoke test: commands from Kafka to functions, and what they write to Kafka.

Usage: ``smoke_job.py SERVERS SOURCE SINK DIRECTORY (local | spark) (embedded | URL)``. Resumes what
it finds. When a file DIRECTORY/stop is there, it stops with a savepoint and writes its path to
DIRECTORY/savepoint.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "engine" / "resident"))

from forked_tasks import ForkingStarter

from millrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.statefun.address import FunctionType
from millrace.statefun.application.kafka_components import kafka_source
from millrace.statefun.data_stream import (
    RequestReplyFunctionBuilder,
    StatefulFunctionDataStreamBuilder,
)
from millrace.statefun.module import KafkaIngress, Routed, StartupPosition
from millrace.statefun.types import decoded

PARALLELISM = 2
OUT, STATES = "smoke/out", "smoke/states"
WORKER = FunctionType("smoke", "worker")


def launcher(where: str) -> JobLauncher:
    """On Spark, or in forked processes: one that is killed is started again."""
    if where == "spark":
        return JobLauncher(resume=True)
    settings = ResidentSettings(barrier_interval=50)
    starter = ForkingStarter()
    return JobLauncher(
        resume=True, executor=lambda *_: ResidentExecutor(starter, PARALLELISM, settings)
    )


def ingress(env: StreamExecutionEnvironment, servers: str, topic: str) -> DataStream[Any]:
    routed = Routed(topic, "smoke/command", (WORKER,))
    source = kafka_source(
        KafkaIngress(
            FunctionType("smoke", "in"), servers, (routed,), topic, StartupPosition("earliest")
        )
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "commands").uid("commands")


def sink(servers: str, topic: str) -> KafkaSink:
    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"smoke-{topic}")
        .build()
    )


def build(
    env: StreamExecutionEnvironment, servers: str, source: str, target: str, url: str
) -> None:
    builder = StatefulFunctionDataStreamBuilder.builder("smoke")
    builder.with_data_stream_as_ingress(ingress(env, servers, source))
    if url == "embedded":
        from smoke_functions import functions

        logging.info("functions of %s", sys.modules["statefun"].__file__)
        builder.with_function_provider("smoke/*", functions)
    else:
        endpoint = RequestReplyFunctionBuilder("smoke/*", url)
        builder.with_request_reply_remote_function(endpoint)
    egresses = builder.with_egress_id(OUT).with_egress_id(STATES).build(env)
    told = egresses.get_data_stream_for_egress_id(OUT).map(lambda v: "told " + decoded(v))
    states = egresses.get_data_stream_for_egress_id(STATES).map(lambda v: "state " + decoded(v))
    told.union(states).sink_to(sink(servers, target)).uid("texts")


def main(servers: str, source: str, target: str, directory: str, where: str, url: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    options = {
        "millrace.executor": "resident",
        "spark.master": "local[2,1000000]",
        "execution.checkpointing.dir": f"{directory}/checkpoints",
        "execution.checkpointing.interval": "100 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000000",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }
    JobLauncher.install(launcher(where))
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    env.set_parallelism(PARALLELISM)
    build(env, servers, source, target, url)
    client = env.execute_async("smoke")
    result = client.get_job_execution_result()
    while not result.done() and not Path(directory, "stop").exists():
        time.sleep(0.05)
    if not result.done():
        path = client.stop_with_savepoint(False, f"{directory}/savepoints").result()
        Path(directory, "savepoint").write_text(path)
    result.result()


if __name__ == "__main__":
    main(*sys.argv[1:])
