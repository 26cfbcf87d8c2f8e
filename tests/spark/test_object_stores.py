"""A whole job on Spark without a local path: its workers write state and parts to an S3 server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from seaweedfs import SeaweedFS

import millrace
from millrace.filesystem.registry import file_system_of

pytestmark = pytest.mark.spark

PROGRAM = """
import sys

from millrace.common import Configuration, Encoder, Types, WatermarkStrategy
from millrace.connectors import FileSink, FileSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import StreamFormat

endpoint, root, out, *start = sys.argv[1:]
settings = {
    "s3.endpoint": endpoint,
    "execution.checkpointing.dir": f"{root}/checkpoints",
    "execution.checkpointing.interval": "0 ms",
    "execution.checkpointing.savepoint-dir": f"{root}/savepoints",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "millrace.state.inline-limit": "100 b",
    "millrace.epoch.max-records-per-split": 300,
    "millrace.epoch.initial-records-per-split": 300,
}
if start:
    settings["execution.state-recovery.path"] = start[0]
env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
env.set_parallelism(2)
lines = StreamFormat.text_line_format()
source = FileSource.for_record_stream_format(lines, f"{root}/in").build()
sink = FileSink.for_row_format(f"{root}/{out}", Encoder.simple_string_encoder()).build()
words = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0], Types.STRING())
counts.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("count").map(str).sink_to(sink)
client = env.execute_async("words")
if out == "first":
    seen = []

    def stop(progress):
        if progress.epochs == 2:
            seen.append(client.stop_with_savepoint(False))

    env.launcher.listeners.append(stop)
client.get_job_execution_result().result()
if out == "first" and seen:
    print("SAVEPOINT", seen[0].result(60))
"""


def run(program: Path, *arguments: str) -> str:
    """Its workers hear of the server as they do on a cluster: as an option, not as a variable."""
    source = str(Path(millrace.__file__).parents[1])
    kept = {**os.environ, "PYTHONPATH": source}
    endpoint = kept.pop("AWS_ENDPOINT_URL_S3")
    done = subprocess.run(
        [sys.executable, str(program), endpoint, *arguments],
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for secret in (SeaweedFS.secret_key, SeaweedFS.access_key):
        assert secret not in done.stdout + done.stderr
    return done.stdout


@pytest.mark.turns(7)
def test_stopped_with_a_savepoint_and_gone_on(s3_root: str, tmp_path: Path) -> None:
    """Every count once, and no credentials in anything that is stored or printed."""
    files = file_system_of(s3_root)
    words = [f"w{n % 7}" for n in range(2000)]
    for number in range(2):
        files.publish(f"{s3_root}/in/{number}", ["\n".join(words[number::2]).encode()])
    program = tmp_path / "words.py"
    program.write_text(PROGRAM)
    told = run(program, s3_root, "first")
    savepoint = told.partition("SAVEPOINT ")[2].strip()
    assert savepoint.startswith(f"{s3_root}/savepoints/"), told
    segments = [file.location for file in files.list(f"{s3_root}/checkpoints", recursive=True)]
    assert [path for path in segments if "/shared/" in path and ".deltas" not in path]
    run(program, s3_root, "first-goes-on", savepoint)
    first = lines(s3_root, "first")
    assert first
    found = sorted(first + lines(s3_root, "first-goes-on"))
    totals = Counter(words)
    assert found == sorted(str((w, n)) for w, most in totals.items() for n in range(1, most + 1))
    stored = [files.read(file.location) for file in files.list(s3_root, recursive=True)]
    for secret in (SeaweedFS.secret_key, SeaweedFS.access_key):
        assert not [data for data in stored if secret.encode() in data]


def lines(root: str, directory: str) -> list[str]:
    files = file_system_of(root)
    found = [f.location for f in files.list(f"{root}/{directory}", recursive=True)]
    assert not [path for path in found if "/." in path]
    return [line for path in found for line in files.read(path).decode().splitlines()]
