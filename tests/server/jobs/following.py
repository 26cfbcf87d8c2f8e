"""Prints the changes of the state of ``sightings.py``: CHECKPOINTS."""

from __future__ import annotations

import sys

from millrace.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    changes = env.state_changes(sys.argv[1], "count", "sightings", job_name="sightings")
    changes.map(lambda row: f"{row.get_row_kind().name} {row.key}").print("change")
    env.execute("following")


if __name__ == "__main__":
    main()
