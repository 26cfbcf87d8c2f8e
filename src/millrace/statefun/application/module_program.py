"""Job file of ``millrace statefun run``: runs a module, with the functions of a Python file."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.program_file import default_job_name
from millrace.statefun.application.module_job import add_module, embedded_functions
from millrace.statefun.module import read_module

if __name__ == "__main__":
    path, *functions = sys.argv[1:]
    embedded = None
    if functions:
        embedded = embedded_functions(vars(import_module(Path(functions[0]).stem)))
    env = StreamExecutionEnvironment.get_execution_environment()
    add_module(env, read_module(path), embedded)
    # most modules have the same file name, and their jobs must not share a directory of checkpoints
    env.execute(default_job_name(path if "://" in path else os.path.abspath(path)))
