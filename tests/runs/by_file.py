"""A divided run collects each file of tests once, in the process that runs it.

xdist's processes all collect all tests: each imports every file and makes 18,000 items before the
first test runs. Here a process collects one item for each file, which xdist divides, and the file's
tests when it is the file's turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from frozen_objects import freeze
from xdist.scheduler import LoadFileScheduling

STARTED = ("kafka_broker", "postgresql", "redis_server", "s3_", "store_root", "mark.spark")
"""A process starts each once, for all files in whose text it is."""
_BY_FILE = "by_file"
SLOW = ("mark.spark", "mark.fault")
PROPERTIES = ("from hypothesis",)
MOST_STARTED = 2
"""Processes that start the same, as long as there are other files for the rest of them."""


class FileOfTests(pytest.Item):
    """The tests of a file that has not been collected yet, as one item."""

    def runtest(self) -> None:
        raise AssertionError("its tests are run instead")

    def tests(self) -> list[pytest.Item]:
        """Those that are not left out. A file that cannot be imported is reported, and has none."""
        assert self.parent is not None
        tests = list(self.session.genitems(self.parent))
        self.config.hook.pytest_collection_modifyitems(
            session=self.session, config=self.config, items=tests
        )
        freeze()
        return tests

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class CollectsByFile:
    """The plugin of a process of tests."""

    def __init__(self) -> None:
        self._collects_files = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> pytest.CollectReport | None:
        if not self._collects_files or not isinstance(collector, pytest.File):
            return None
        name = "doctests" if isinstance(collector, DoctestModule) else "tests"
        item = FileOfTests.from_parent(collector, name=name)
        return pytest.CollectReport(collector.nodeid, "passed", None, [item])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Slow files go first, then properties, which take seconds, and last what takes moments: at
        the end of the run no process waits for another."""
        if self._collects_files:
            items.sort(
                key=lambda item: (not _names(item.path, SLOW), not _names(item.path, PROPERTIES))
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        self._collects_files = False
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        if not isinstance(item, FileOfTests):
            return None
        session = item.session
        index = session.items.index(item)
        tests = item.tests()
        if not tests:
            session._setupstate.teardown_exact(nextitem)
        # what the session has set up stays if a test follows: the next file is enough of one
        for test, following in zip(tests, [*tests[1:], nextitem], strict=False):
            session.items[index] = test  # xdist looks which test it is that reports
            item.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
        session.items[index] = item
        return True


class Division(LoadFileScheduling):  # type: ignore[misc]
    """Gives files that need what takes long to start to processes that have started it."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._needs: dict[str, list[str]] = {}
        self._started: dict[str, set[Any]] = defaultdict(set)

    def schedule(self) -> None:
        if self.collection is None:
            names = next(iter(self.registered_collections.values()))
            files = {self._split_scope(name) for name in names}
            self._needs = {name: _names(self.config.rootpath / name, STARTED) for name in files}
        super().schedule()

    def _assign_work_unit(self, node: Any) -> None:
        suits = (name for name in self.workqueue if self._suits(node, name))
        name = next(suits, next(iter(self.workqueue)))
        for need in self._needs[name]:
            self._started[need].add(node)
        self.workqueue.move_to_end(name, last=False)
        super()._assign_work_unit(node)

    def _suits(self, node: Any, name: str) -> bool:
        started = (self._started[need] for need in self._needs[name])
        return all(node in nodes or len(nodes) < MOST_STARTED for nodes in started)


class DividesFiles:
    """The plugin of the process that divides the tests among others."""

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_BY_FILE] = True

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Division:
        return Division(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Whoever names tests, and not files, has them divided as xdist does it."""
    divides = config.getoption("numprocesses", None) and config.getoption("dist") == "loadfile"
    if divides and not any("::" in argument for argument in config.args):
        config.pluginmanager.register(DividesFiles())
    elif getattr(config, "workerinput", {}).get(_BY_FILE):
        config.pluginmanager.register(CollectsByFile())


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """A module without an example is not imported to look for one."""
    collectors = yield
    if file_path.suffix == ".py" and not _names(file_path, [">>> "]):
        return [one for one in collectors if not isinstance(one, DoctestModule)]
    return collectors


def _names(path: Path, words: Iterable[str]) -> list[str]:
    """The words that are in a file's text."""
    text = path.read_text(encoding="utf-8")
    return [word for word in words if word in text]
