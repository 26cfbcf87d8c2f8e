"""Job file of ``millrace statefun run``: runs a module, with the functions of a Python file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from millrace.common.config import options
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.program_file import default_job_name
from millrace.statefun.application.functions_file import functions_of_file
from millrace.statefun.application.module_job import add_module
from millrace.statefun.module import read_module

if __name__ == "__main__":
    path, *functions = sys.argv[1:]
    embedded = functions_of_file(Path(functions[0])) if functions else None
    # most modules have the same file name, and their jobs must not share a directory of checkpoints
    env = StreamExecutionEnvironment.get_execution_environment()
    name = env.launcher.settings.get(options.JOB_NAME) or default_job_name(
        path if "://" in path else os.path.abspath(path)
    )
    add_module(env, read_module(path), embedded, name)
    env.execute(name)
