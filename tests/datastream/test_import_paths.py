"""Names are found at PyFlink's module paths too, and are the same objects."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from millrace.common import Row, Types
from millrace.common.source import Source
from millrace.common.types.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.collection import CollectionSource
from millrace.datastream import (
    CountWindow,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeWindow,
)
from millrace.datastream.functions import (
    NullByteKeySelector,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ReduceFunctionWrapper,
)
from millrace.datastream.utils import ResultTypeQueryable
from millrace.datastream.window import Min
from millrace.testing import run_local

PATHS = {
    "millrace.common.job_execution_result": "JobExecutionResult",
    "millrace.common.job_id": "JobID",
    "millrace.common.job_status": "JobStatus",
    "millrace.datastream.async_retry_strategies": "FixedDelayRetryStrategy",
    "millrace.datastream.checkpoint_config": "CheckpointConfig",
    "millrace.datastream.checkpoint_storage": "FileSystemCheckpointStorage",
    "millrace.datastream.checkpointing_mode": "CheckpointingMode",
    "millrace.datastream.data_stream": "WindowedStream",
    "millrace.datastream.execution_mode": "RuntimeExecutionMode",
    "millrace.datastream.externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "millrace.datastream.functions": "KeyedStateStore",
    "millrace.datastream.state": "MergingState",
    "millrace.datastream.time_domain": "TimeDomain",
    "millrace.datastream.timerservice": "TimerService",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_a_name_is_found_at_its_path(path: str, name: str) -> None:
    found = getattr(import_module(path), name)
    assert found.__name__ == name
    assert getattr(import_module(found.__module__), name) is found


@pytest.mark.parametrize("function", [ProcessWindowFunction, ProcessAllWindowFunction])
def test_contexts_name_their_window(function: type[ProcessWindowFunction]) -> None:
    """As in all of PyFlink's examples with windows."""
    assert function.Context[TimeWindow].__args__ == (TimeWindow,)


def test_streams_of_every_kind_are_in_data_stream() -> None:
    """PyFlink has them in one module."""
    module = import_module("millrace.datastream.data_stream")
    for name in ("AllWindowedStream", "CloseableIterator", "DataStream", "KeyedStream"):
        assert getattr(module, name).__name__ == name


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    """Jobs run in this process."""
    with run_local():
        yield StreamExecutionEnvironment.get_execution_environment()


def test_windows_hand_on_their_elements(env: StreamExecutionEnvironment) -> None:
    """With and without keys; the smaller of two numbers, and a key for all of them."""
    numbers = env.from_collection([3, 1, 2, 4])
    keyed = numbers.key_by(NullByteKeySelector())
    by_key: PassThroughWindowFunction[int, int, CountWindow] = PassThroughWindowFunction()
    passed = keyed.count_window(2).apply(by_key)
    assert list(passed.execute_and_collect()) == [3, 1, 2, 4]
    passed = numbers.count_window_all(4).apply(PassThroughAllWindowFunction())
    assert list(passed.execute_and_collect()) == [3, 1, 2, 4]
    assert list(keyed.reduce(Min()).execute_and_collect()) == [3, 1, 1, 1]
    largest = keyed.reduce(ReduceFunctionWrapper(max))
    assert list(largest.execute_and_collect()) == [3, 3, 3, 4]


class Pairs(CollectionSource[object], ResultTypeQueryable):
    """A source that knows its type."""

    def get_produced_type(self) -> TypeInformation[Row]:
        return Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])


def test_a_source_tells_its_type(env: StreamExecutionEnvironment) -> None:
    """So that tuples become rows, as with a type that is given to from_source."""
    source: Source[object] = Pairs([("to", 1)])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "Pairs")
    assert list(stream.execute_and_collect()) == [Row(word="to", n=1)]


NAMES_FILE = Path(__file__).parents[1] / "fixtures" / "pyflink_names.txt"
PYFLINK_NAMES = [
    (module, names.split())
    for module, _, names in (
        line.partition(": ") for line in NAMES_FILE.read_text(encoding="utf-8").splitlines()
    )
]
"""Names that a module of PyFlink has, those of its own imports included, which are ours, too."""


@pytest.mark.parametrize(("module", "names"), PYFLINK_NAMES, ids=[m for m, _ in PYFLINK_NAMES])
def test_a_module_has_the_names_that_pyflinks_has(module: str, names: list[str]) -> None:
    """Public programs import them from where PyFlink uses them."""
    found = import_module(module)
    assert [name for name in names if not hasattr(found, name)] == []


def test_a_name_is_one_object_at_all_its_paths() -> None:
    """But for what PyFlink itself has twice, once in each API."""
    places: dict[str, dict[int, str]] = {}
    for module, names in PYFLINK_NAMES:
        for name in names:
            thing = getattr(import_module(module), name)
            if isinstance(thing, type):
                places.setdefault(name, {})[id(thing)] = module
    twice = {name for name, found in places.items() if len(found) > 1}
    assert twice == {"AggregateFunction", "CloseableIterator"}


def test_importing_the_datastream_api_loads_no_library() -> None:
    """Whatever names its modules lend."""
    modules = {
        module
        for module, _ in PYFLINK_NAMES
        if module.startswith("millrace.datastream")
        and not module.startswith(("millrace.datastream.connectors", "millrace.datastream.formats"))
    }
    heavy = {"pyspark", "pyarrow", "numpy", "pandas"}
    program = (
        f"import sys, importlib\nfor module in {sorted(modules)}: importlib.import_module(module)\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
