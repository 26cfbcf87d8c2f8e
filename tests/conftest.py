"""What tests of several rooms share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "src"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run: two cores, four attempts per task as on a cluster."""
    from millrace.spark.session import create_session

    # pytest's own search path does not reach the Python workers
    paths = [str(SOURCES), os.environ.get("PYTHONPATH", "")]
    # the tests' JVMs leave nothing behind in the user's cache
    os.environ.setdefault("MILLRACE_CLASS_ARCHIVE", "off")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    session = create_session("tests", parallelism=2, master="local[2,4]")
    yield session
    session.stop()
