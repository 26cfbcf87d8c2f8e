"""A Python that workers cannot use is told before Spark tries it again and again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from millrace.common.errors import ConfigurationError
from millrace.spark.worker_python import require_worker_python


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def test_the_python_of_the_driver_and_one_of_its_version_will_do(tmp_path: Path) -> None:
    require_worker_python({})
    require_worker_python({"PYSPARK_PYTHON": "./environment/bin/python"})
    require_worker_python({"PYSPARK_PYTHON": sys.executable})
    for before in ("", "echo 'the environment is ready'; "):
        other = script(tmp_path / "python", f'{before}exec {sys.executable} "$@"')
        require_worker_python({"PYSPARK_PYTHON": other})


def test_a_python_that_cannot_be_run(tmp_path: Path) -> None:
    for python in ("/nowhere/python", os.devnull, script(tmp_path / "python", "exit 1")):
        with pytest.raises(ConfigurationError, match=r"PYSPARK_PYTHON is '.*not a Python that can"):
            require_worker_python({"PYSPARK_PYTHON": python})


def test_a_python_of_another_version(tmp_path: Path) -> None:
    python = script(tmp_path / "python", "echo 3.7")
    with pytest.raises(ConfigurationError, match=r"a Python 3\.7, and this program runs on"):
        require_worker_python({"PYSPARK_PYTHON": python})
