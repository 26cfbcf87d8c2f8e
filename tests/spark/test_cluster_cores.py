from __future__ import annotations

from typing import Any

import pytest

from millrace.spark import cluster_cores
from millrace.spark.cluster_cores import GROWN_AFTER, ClusterCores


class Application:
    """A Spark application whose executors come one by one, each time somebody looks."""

    def __init__(self, master: str, cores: list[int], **settings: str) -> None:
        self.master = master
        self._coming = cores
        self._settings = settings
        self.looks = 0

    def maxNumConcurrentTasks(self, profile: Any) -> int:
        here = self._coming if self.master.startswith("local") else self._coming[: self.looks]
        return sum(here) // int(self._settings.get("spark_task_cpus", 1))

    def resourceProfileManager(self) -> Any:
        return self

    def defaultResourceProfile(self) -> Any:
        return self

    def getConf(self) -> Any:
        return {key.replace("_", "."): value for key, value in self._settings.items()}

    @property
    def _jsc(self) -> Any:
        return self

    def sc(self) -> Any:
        return self

    def getExecutorMemoryStatus(self) -> Any:
        self.looks += 1
        return self

    def size(self) -> int:
        return 1 + min(self.looks, len(self._coming))


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch):
    def make(application: Application) -> ClusterCores:
        now = [0.0]
        monkeypatch.setattr(cluster_cores.time, "monotonic", lambda: now[0])
        monkeypatch.setattr(
            cluster_cores.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds)
        )
        return ClusterCores(application)  # type: ignore[arg-type]

    return make


def test_the_cores_that_were_asked_for_are_waited_for(cores) -> None:
    application = Application("spark://host:7077", [4, 4, 4], spark_cores_max="8")
    found = cores(application)
    found.wait_until_known()
    assert found.count == 8


def test_tasks_that_take_two_cores_are_half_as_many(cores) -> None:
    application = Application(
        "spark://host:7077", [4, 4, 4], spark_cores_max="8", spark_task_cpus="2"
    )
    found = cores(application)
    found.wait_until_known()
    assert (found.count, application.looks) == (4, 2)


def test_without_a_number_it_takes_those_that_come_soon(cores) -> None:
    found = cores(Application("spark://host:7077", [4, 4, 4]))
    found.wait_until_known()
    assert found.count == 12


def test_nothing_is_waited_for_in_the_driver(cores) -> None:
    application = Application("local[2,4]", [2])
    found = cores(application)
    found.wait_until_known()
    assert (found.count, application.looks) == (2, 0)
    assert not found.have_grown()


def test_who_may_not_wait_any_more_takes_those_that_are_there(cores) -> None:
    application = Application("spark://host:7077", [4, 4, 4], spark_cores_max="12")
    found = cores(application)
    found.wait_until_known(lambda: application.looks < 2)
    assert (found.count, application.looks) == (8, 2)


def test_an_executor_that_comes_late_counts_once_it_has_stayed(cores) -> None:
    application = Application("spark://host:7077", [4, 4], spark_cores_max="4")
    found = cores(application)
    found.wait_until_known()
    assert found.count == 4
    application.looks = 2
    seen = [found.have_grown() for _ in range(GROWN_AFTER - 1)]
    application.looks = 1  # it went again
    assert not found.have_grown()
    application.looks = 2
    seen += [found.have_grown() for _ in range(GROWN_AFTER)]
    assert seen == [False] * (2 * GROWN_AFTER - 2) + [True]
    assert found.count == 8
    assert not found.have_grown()
