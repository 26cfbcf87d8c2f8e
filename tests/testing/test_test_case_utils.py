"""A test of a program of PyFlink, with PyFlink's base classes."""

from __future__ import annotations

import os
import unittest

from millrace.datastream.functions import ReduceFunction
from millrace.table.expressions import col
from millrace.testing import test_case_utils as cases


class Sum(ReduceFunction):  # type: ignore[type-arg]
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class InUnits(cases.PyFlinkUTTestCase):
    def test_streams_and_tables(self) -> None:
        stream = self.env.from_collection([2, 1]).map(lambda n: n * 2)
        self.assert_equals(list(stream.execute_and_collect()), [2, 4])
        assert self.env.get_parallelism() == 2
        table = self.t_env.from_elements([(1, "a"), (2, "a")], ["n", "k"])
        rows = table.select(col("n") + 1).execute().collect()
        self.assert_equals([row[0] for row in rows], [2, 3])


class InBatches(cases.PyFlinkBatchTestCase):
    def test_one_result(self) -> None:
        stream = self.env.from_collection([2, 1]).key_by(lambda n: 0).reduce(Sum())
        self.assert_equals(list(stream.execute_and_collect()), [3])


class OfTables(cases.PyFlinkStreamTableTestCase):
    def test_insert(self) -> None:
        path = os.path.join(self.tempdir, "out")
        self.t_env.execute_sql(
            "CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv', "
            f"'path' = '{path}')"
        )
        table = self.t_env.from_elements([(1,), (2,)], ["n"])
        assert cases.exec_insert_table(table, "files").get_job_id() is not None
        rows = self.t_env.from_path("files").execute().collect()
        self.assert_equals([row[0] for row in rows], [1, 2])


def test_the_cases_pass() -> None:
    """Run as unittest runs them; a wrong result fails."""
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(case)
        for case in (InUnits, InBatches, OfTables)
    )
    result = unittest.TestResult()
    suite.run(result)
    assert (result.testsRun, result.failures, result.errors) == (3, [], [])


def test_uuids_are_replaced() -> None:
    text = "job 0a1b2c3d-0000-1111-2222-0a1b2c3d4e5f ended"
    assert cases.replace_uuid({text: 1}) == {"job {uuid} ended": 1}
