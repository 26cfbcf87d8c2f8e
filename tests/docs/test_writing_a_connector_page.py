"""The page about connectors: its code runs as it stands there, through faults and resumption."""

from __future__ import annotations

import pickle
import re
import sqlite3
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from millrace.common import WatermarkStrategy
from millrace.common.errors import JobCancelledError
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import Faults, run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "writing-a-connector.md"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the page's files: the title of each piece of code names its file."""
    directory = tmp_path_factory.mktemp("package")
    files = defaultdict[str, list[str]](list)
    text = PAGE.read_text(encoding="utf-8")
    for name, code in re.findall(r'```python title="(.*?)"\n(.*?)```', text, re.DOTALL):
        files[name].append(code)
    assert set(files) == {"words_connector/words.py", "words_connector/table.py", "job.py"}
    assert "```python\n" not in text
    (directory / "words_connector").mkdir()
    for name in ("words_connector/__init__.py", *files):
        (directory / name).write_text("\n\n".join(files[name]), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def page(package: Path) -> Iterator[ModuleType]:
    """The module with the page's source and sink."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(package)
        yield import_module("words_connector.words")
        for name in ("words_connector", "words_connector.words", "words_connector.table"):
            sys.modules.pop(name, None)


class Words:
    """Logs that grow, and the table that the job fills from them."""

    def __init__(self, page: ModuleType, path: Path) -> None:
        self.page, self.path = page, path
        for name in ("logs", "staging"):
            (path / name).mkdir()
        self.time = 0
        self.written: list[str] = []

    def log(self, partition: str, *lines: str) -> None:
        with (self.path / "logs" / partition).open("a") as file:
            for line in lines:
                self.time += 1
                file.write(f"{self.time} {line}\n")
                self.written += line.split()

    def table(self) -> list[str]:
        with sqlite3.connect(self.path / "words.db", timeout=60) as table:
            return sorted(word for (word,) in table.execute("select word from words"))

    def run(self, until: int, **settings: Any) -> dict[str, Any]:
        """Run the job until the table has so many words; gives its metrics."""
        with run_local(epoch_records=3, checkpoint_dir=str(self.path / "chk"), **settings):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_parallelism(2)
            source = self.page.LogSource(str(self.path / "logs"), look_every=1)
            strategy = WatermarkStrategy.for_monotonous_timestamps()
            words = env.from_source(source, strategy, "log").flat_map(str.split)
            words.sink_to(
                self.page.TableSink(str(self.path / "words.db"), str(self.path / "staging"))
            )
            client = env.execute_async("words")
            try:
                for _ in range(600):
                    accumulators = client.get_accumulators().result()
                    # a commit in the background is counted after it was made
                    if self.count() >= until and accumulators.get("successfulCommittables"):
                        break
                    threading.Event().wait(0.05)
            finally:
                client.cancel().result()
            with pytest.raises(JobCancelledError):
                client.get_job_execution_result().result()
            return accumulators

    def count(self) -> int:
        try:
            return len(self.table())
        except sqlite3.OperationalError:
            return 0


@pytest.fixture
def words(page: ModuleType, tmp_path: Path) -> Words:
    return Words(page, tmp_path)


def test_words_of_all_partitions_arrive_once(words: Words) -> None:
    for number in range(30):
        words.log(f"p{number % 3}", f"a{number} b{number}")
    metrics = words.run(until=60)
    assert words.table() == sorted(words.written)
    assert metrics["partitions"] == 3
    assert metrics["successfulCommittables"] > 0
    assert metrics["bytesRead"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_or_doubled_by_faults_and_resumption(words: Words, seed: int) -> None:
    faults = Faults(lost_epochs=0.2, lost_workers=0.2)
    words.log("p0", *(f"w{n}" for n in range(20)))
    words.run(until=20, faults=faults, seed=seed)
    words.log("p1", *(f"x{n}" for n in range(20)))
    words.log("p0", *(f"y{n}" for n in range(20)))
    words.run(until=60, faults=faults, seed=seed, resume=True)
    assert words.table() == sorted(words.written)


def test_a_locked_table_is_waited_for(words: Words) -> None:
    words.log("p0", "one", "two")
    lock = sqlite3.connect(words.path / "words.db", check_same_thread=False)
    lock.execute("begin immediate")
    threading.Timer(1.0, lock.rollback).start()
    metrics = words.run(until=2)
    assert words.table() == ["one", "two"]
    assert metrics["retriedCommittables"] > 0


def test_a_worker_that_unpickles_the_connector_imports_no_planner(
    page: ModuleType, package: Path, tmp_path: Path
) -> None:
    pickled = tmp_path / "pickled"
    pickled.write_bytes(pickle.dumps([page.LogSource("logs"), page.TableSink("w.db", "staging")]))
    program = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
with open(sys.argv[2], "rb") as file:
    source, sink = pickle.load(file)
source.create_enumerator(), sink.create_writer(None, None)
unwanted = ("millrace.planner", "millrace.table.", "sqlglot")
print(sorted(name for name in sys.modules if name.startswith(unwanted)))
"""
    worker = [sys.executable, "-c", program, package, pickled]
    ran = subprocess.run(worker, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_the_page_is_in_the_navigation() -> None:
    navigation = (PAGE.parents[2] / "mkdocs.yml").read_text(encoding="utf-8")
    assert "connectors/writing-a-connector.md" in navigation


def test_the_table_is_found_by_the_entry_point_of_its_package(
    page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "words_connector-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: words-connector\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[millrace.connectors]\nwords = words_connector.table:WordsFactory\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    options = f"'connector' = 'words', 'database' = '{tmp_path}/w.db', 'staging' = '{tmp_path}'"
    with run_local():
        env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        env.execute_sql(f"CREATE TABLE words (word STRING) WITH ({options})")
        env.execute_sql("INSERT INTO words VALUES ('a'), ('b'), ('a')").wait()
    with sqlite3.connect(tmp_path / "w.db") as table:
        assert sorted(table.execute("select word from words")) == [("a",), ("a",), ("b",)]
