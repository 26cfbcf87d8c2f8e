"""What a running job asks of a real S3 server, counted on the way to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from counting_proxy import CountingProxy
from seaweedfs import SeaweedFS

from millrace.common import Types
from millrace.common.config.configuration import Configuration
from millrace.common.serialization import Encoder
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_sink import FileSink
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.filesystem import registry
from millrace.testing.mini_cluster import run_local

RECORDS = 4000
PARALLELISM = 4


@pytest.fixture
def proxy(
    s3_server: SeaweedFS, s3_root: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CountingProxy]:
    with CountingProxy(s3_server.port) as made:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{made.port}")
        monkeypatch.setattr(registry, "_made", {})
        yield made


def per_checkpoint(proxy: CountingProxy, root: str, with_sink: bool) -> tuple[float, float]:
    """Requests of the checkpoints and of the sink while a job runs, with a checkpoint after every
    epoch; the first and the last epochs are left out."""
    seen: list[int] = []
    configuration = Configuration({"execution.checkpointing.interval": "0 ms"})
    with run_local(epoch_records=10, checkpoint_dir=f"{root}/checkpoints") as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(PARALLELISM)
        source = NumberSequenceSource(1, RECORDS)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        sums = numbers.key_by(lambda n: n % 7, Types.INT()).reduce(lambda a, b: a + b).uid("sums")
        if with_sink:
            lines = FileSink.for_row_format(f"{root}/out", Encoder.simple_string_encoder())
            policy = RollingPolicy.on_checkpoint_rolling_policy()
            sums.map(str).sink_to(lines.with_rolling_policy(policy).build())
        else:
            sums.filter(lambda value: False).print()

        def note(progress: Any) -> None:
            seen.append(len(proxy.lines))

        cluster.listeners.append(note)
        env.execute("small")
    assert len(seen) > 30
    # the lease is renewed every few seconds, however many checkpoints fit in between
    lines_between = [line for line in proxy.lines[seen[4] : seen[-5]] if "lease.json" not in line]
    checkpoints = len(seen) - 9
    of_sink = sum("/out/" in line for line in lines_between)
    return (len(lines_between) - of_sink) / checkpoints, of_sink / checkpoints


def test_a_checkpoint_of_small_state(proxy: CountingProxy, s3_root: str) -> None:
    """Deltas, manifest, what is not needed any more."""
    checkpoint, _ = per_checkpoint(proxy, s3_root, with_sink=False)
    assert checkpoint <= 3.1, proxy.lines[-40:]


def test_a_checkpoint_that_a_file_sink_commits(proxy: CountingProxy, s3_root: str) -> None:
    """The note of its commit besides; an upload is begun, written, looked at and completed."""
    checkpoint, sink = per_checkpoint(proxy, s3_root, with_sink=True)
    assert checkpoint <= 4.1, proxy.lines[-40:]
    assert sink <= 4.1 * PARALLELISM, proxy.lines[-40:]
