"""PyFlink's side of the programs of tables, run by the interpreter of its own environment.

    python -m conformance.pyflink_sql_side OUT PATH...

Writes one line of JSON per program to the file OUT: its path, its results, and its error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from conformance.relational import RelationalProgram, programs
from conformance.sql_outputs import results
from pyflink.table import EnvironmentSettings, TableEnvironment

SETTINGS = {
    "parallelism.default": "1",
    "rest.port": "0",
    "table.local-time-zone": "UTC",
    "pipeline.auto-watermark-interval": "5 ms",
}


def environment(program: RelationalProgram) -> TableEnvironment:
    builder = EnvironmentSettings.new_instance()
    settings = builder.in_batch_mode() if program.is_batch else builder.in_streaming_mode()
    t_env = TableEnvironment.create(settings.build())
    for key, value in (*SETTINGS.items(), *program.settings):
        t_env.get_config().set(key, value)
    return t_env


def main() -> None:
    out, *paths = sys.argv[1:]
    with Path(out).open("w") as file:
        for program in programs(paths):
            if program.path in paths or program.page in paths:
                found, error = results(environment(program), program)
                said = {"program": program.path, "results": found, "error": error}
                file.write(json.dumps(said) + "\n")
                file.flush()
                print(".", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
