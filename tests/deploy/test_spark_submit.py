"""``spark-submit --py-files`` with the package in a zip, as its how-to says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

ROOT = Path(__file__).resolve().parents[2]
JOB = """
import os
import millrace
from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment

where = millrace.__file__

def seen(number):
    import millrace
    return number % 3, millrace.__file__

env = StreamExecutionEnvironment.get_execution_environment(
    Configuration({"execution.checkpointing.dir": os.path.abspath("checkpoints")})
)
counted = env.from_collection(list(range(30))).map(seen).key_by(lambda pair: pair[0])
for result in counted.reduce(lambda a, b: (a[0], a[1])).execute_and_collect("submitted"):
    print("RESULT", *result, where)
"""


@pytest.mark.spark
@pytest.mark.connectors
def test_a_job_runs_from_the_archive(tmp_path: Path) -> None:
    """Driver and workers import Millrace from it, not from where it is installed."""
    archive = tmp_path / "millrace.zip"
    maker = [sys.executable, str(ROOT / "scripts" / "py_files.py"), str(archive)]
    subprocess.run(maker, check=True, capture_output=True)
    (tmp_path / "job.py").write_text(JOB)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    run = subprocess.run(
        [str(submit), "--master", "local[2]", "--py-files", str(archive), "job.py"],
        cwd=tmp_path,
        env={
            **kept,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    results = [line.split()[1:] for line in run.stdout.splitlines() if line.startswith("RESULT")]
    assert len(results) == 30, run.stdout + run.stderr
    for _, worker, driver in results:
        assert "millrace.zip" in worker
        assert "millrace.zip" in driver
