"""An environment whose jobs run in this process; and tests share a grammar of queries:
`query_grammar`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    with run_local():
        yield TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture
def batch_env() -> Iterator[TableEnvironment]:
    with run_local(epoch_records=2):
        yield TableEnvironment.create(EnvironmentSettings.in_batch_mode())
