"""What `millrace.cep` offers: sorted, complete, and free of Spark."""

from __future__ import annotations

import subprocess
import sys

import millrace.cep


def test_all_is_sorted_and_importable() -> None:
    names = millrace.cep.__all__
    assert list(names) == sorted(set(names))
    assert [name for name in names if not hasattr(millrace.cep, name)] == []


def test_importing_needs_neither_spark_nor_arrow() -> None:
    code = "import sys, millrace.cep; print({'pyspark', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
