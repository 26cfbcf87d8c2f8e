"""Settings of the allocators of a Python worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from millrace.spark.worker_memory import set_up_memory

NAMES = "NUMPY_MADVISE_HUGEPAGE", "MIMALLOC_PURGE_DELAY"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # restored afterwards
        monkeypatch.delenv(name)
    for library in ("numpy", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, ModuleType(library))
        monkeypatch.delitem(sys.modules, library)


@pytest.mark.usefixtures("fresh")
def test_the_libraries_find_the_settings_when_they_are_loaded() -> None:
    set_up_memory()
    assert [os.environ[name] for name in NAMES] == ["0", "1000"]


@pytest.mark.usefixtures("fresh")
def test_the_settings_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMES[0], "1")
    set_up_memory()
    assert [os.environ[name] for name in NAMES] == ["1", "1000"]


@pytest.mark.usefixtures("fresh")
def test_nothing_is_said_to_a_library_that_would_not_hear_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", ModuleType("numpy"))
    set_up_memory()
    assert NAMES[0] not in os.environ
    assert NAMES[1] in os.environ


def test_a_task_loads_the_libraries_with_its_program_only() -> None:
    """Otherwise the settings would come too late, without a word."""
    program = (
        "import sys, pyspark.daemon, pyspark.worker, millrace.spark.task\n"
        "import millrace.spark.resident.resident_task\n"
        "print([name for name in ('numpy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.spark
@pytest.mark.parametrize("executor", ["epochs", "resident"])
def test_workers_of_spark_have_them(spark: object, executor: str, tmp_path: Path) -> None:
    from millrace.common import Configuration
    from millrace.datastream import StreamExecutionEnvironment

    config = Configuration()
    config.set_string("millrace.executor", executor)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(1)
    # another job's workers may have loaded the libraries before
    own = tmp_path / f"own_workers_{executor}.py"
    own.touch()
    env.add_python_file(str(own))

    def settings(_: int) -> list[str | None]:
        import os

        import numpy as np

        # the setting that NumPy has taken: the function returns the former one
        core = getattr(np, "_core", None) or np.core  # the name of NumPy 2, and of NumPy 1
        taken = core.multiarray._set_madvise_hugepage(False)
        return [str(taken), os.environ.get("MIMALLOC_PURGE_DELAY")]

    with env.from_collection([1]).map(settings).execute_and_collect() as results:
        assert list(results) == [["False", "1000"]]
