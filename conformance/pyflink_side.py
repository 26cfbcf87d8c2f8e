"""PyFlink's side, run by the interpreter of its own environment: all programs in one process.

    python -m conformance.pyflink_side OUT PROGRAM...

Writes one line of JSON per program to the file OUT: its name and its outputs, or its error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from conformance.outputs import lines
from conformance.program import load
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.fn_execution.beam.beam_worker_pool_service import BeamFnLoopbackWorkerPoolServicer

SETTINGS = {
    # one record per bundle, no waiting in buffers, watermarks at once: with the pauses of a program
    # that depends on them, what it sees of event time then depends on its input only
    "python.fn-execution.bundle.size": "1",
    "execution.buffer-timeout.interval": "0 ms",
    "pipeline.auto-watermark-interval": "5 ms",
    "rest.port": "0",
    "slot.request.timeout": "20 s",
    # execute() would set it for partition_custom, execute_and_collect() does not
    "pipeline.global-job-parameters": "NUM_PARTITIONS:1",
    "python.executable": sys.executable,
}


def environment() -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in SETTINGS.items():
        configuration.set_string(key, value)
    # Python workers as threads of this process, as execute() has it: processes take seconds each
    workers = BeamFnLoopbackWorkerPoolServicer().configure(configuration)
    configuration.set_string("python.loopback-server.address", workers.start())
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    return env


def run(name: str) -> dict[str, Any]:
    try:
        with load(name, "pyflink").stream(environment()).execute_and_collect() as records:
            return {"name": name, "outputs": lines(records)}
    except Exception as error:
        return {"name": name, "error": f"{type(error).__name__}: {error}"}


def main() -> None:
    out, *names = sys.argv[1:]
    with Path(out).open("w") as file:
        for name in names:
            file.write(json.dumps(run(name)) + "\n")
            file.flush()
            print(".", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
