"""PyFlink's base classes of tests, for programs that test their pipelines with them.

Jobs run in this process, as within `run_local`. What reaches into the JVM of PyFlink is not here.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import unittest
from typing import Any

from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.job import JobExecutionResult
from millrace.common.time.amounts import Instant, Time
from millrace.common.types.row import Row
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.table.stream_table_environment import StreamTableEnvironment
from millrace.table.table import Table
from millrace.testing.mini_cluster import run_local

__all__ = [
    "Instant",
    "JobExecutionResult",
    "PyFlinkBatchTableTestCase",
    "PyFlinkBatchTestCase",
    "PyFlinkITTestCase",
    "PyFlinkStreamTableTestCase",
    "PyFlinkStreamingTestCase",
    "PyFlinkTestCase",
    "PyFlinkUTTestCase",
    "Row",
    "RuntimeExecutionMode",
    "StreamExecutionEnvironment",
    "StreamTableEnvironment",
    "Time",
    "exec_insert_table",
    "replace_uuid",
]

_UUID = re.compile(r"[a-z0-9]{8}(-[a-z0-9]{4}){3}-[a-z0-9]{12}")


def exec_insert_table(table: Table, table_path: str) -> JobExecutionResult:
    """Insert the rows of a table into another, and wait for the end of the job."""
    client = table.execute_insert(table_path).get_job_client()
    assert client is not None
    return client.get_job_execution_result().result()


def replace_uuid(input_obj: Any) -> Any:
    """A text, or the texts of a dict, with ``{uuid}`` in place of each UUID."""
    if isinstance(input_obj, dict):
        return {replace_uuid(key): replace_uuid(value) for key, value in input_obj.items()}
    return _UUID.sub("{uuid}", input_obj) if isinstance(input_obj, str) else input_obj


class PyFlinkTestCase(unittest.TestCase):
    """Test case with a directory, ``tempdir``, for its whole class."""

    tempdir: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.tempdir = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.tempdir, ignore_errors=True)

    @classmethod
    def assert_equals(cls, actual: list[Any], expected: list[Any]) -> None:
        """Assert that both lists have the same elements, in any order."""
        actual.sort()
        expected.sort()
        assert actual == expected, f"{actual} is not {expected}"


class PyFlinkUTTestCase(PyFlinkTestCase):
    """Test case with environments of its own: ``env`` and ``t_env``, for streams."""

    def setUp(self) -> None:
        self.enterContext(run_local())
        self.env = _environment(RuntimeExecutionMode.STREAMING)
        self.t_env = StreamTableEnvironment.create(self.env)


class PyFlinkITTestCase(PyFlinkTestCase):
    """Tests of a class with one ``env``."""

    MODE = RuntimeExecutionMode.STREAMING
    env: StreamExecutionEnvironment

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.enterClassContext(run_local())
        cls.env = _environment(cls.MODE)


class PyFlinkStreamingTestCase(PyFlinkITTestCase):
    """Tests of streams."""


class PyFlinkBatchTestCase(PyFlinkITTestCase):
    """Tests of streams in batch mode."""

    MODE = RuntimeExecutionMode.BATCH


class PyFlinkStreamTableTestCase(PyFlinkITTestCase):
    """Tests of tables, with one ``t_env``."""

    t_env: StreamTableEnvironment

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.t_env = StreamTableEnvironment.create(cls.env)


class PyFlinkBatchTableTestCase(PyFlinkStreamTableTestCase):
    """Tests of tables in batch mode, with one ``t_env``."""

    MODE = RuntimeExecutionMode.BATCH


def _environment(mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    env.set_parallelism(2)
    return env
