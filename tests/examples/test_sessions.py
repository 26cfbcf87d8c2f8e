"""The session analytics: killed, resumed, upgraded, queried, and compared with plain loops."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from application import EXAMPLES, Application
from click_stream import DAY, FILES, FIRST, HOUR, MINUTE, clicks, deliver, files

from millrace.rest import QueryableStateClient
from millrace.state_processor import SavepointReader

Click = dict[str, Any]
Look = Callable[[str], dict[str, tuple[int, int]]]


@pytest.mark.turns(7)
@pytest.mark.spark
@pytest.mark.fault
def test_three_days_of_clicks(spark: Any, tmp_path: Path) -> None:
    """Day 1; day 2 with kill -9 in the middle; an upgrade; day 3."""

    def profiles(savepoint: str) -> dict[str, tuple[int, int]]:
        read = SavepointReader.read(spark, savepoint).read_value_state("profiles", "profile")
        return {row.key: (row.value.clicks, row.value.last_seen) for row in read.collect()}

    live_through(Application(tmp_path, "analytics"), profiles)


def test_users_run_the_tests_of_their_functions(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "sessions", tmp_path, dirs_exist_ok=True)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "5 passed" in done.stdout, done.stdout


def live_through(application: Application, profiles: Look) -> None:
    directory = application.directory

    def watermark() -> int:
        return application.progress().get("watermark") or 0

    def end_of(day: int) -> int:
        return FIRST + day * DAY - 1 - 2 * MINUTE - 1

    with application:
        arrive(directory, 1)
        application.start_process("sessions/analytics.py")
        application.wait_for(lambda: watermark() == end_of(1))
        arrive(directory, 2, until=FILES // 2)
        application.wait_for(lambda: watermark() > end_of(1))
        application.kill()
        arrive(directory, 2, since=FILES // 2)

        application.start("sessions/analytics.py", resume=True)
        application.wait_for(lambda: watermark() == end_of(2))
        savepoint = application.stop()
        assert profiles(savepoint) == expected_profiles(1, 2)

        application.start("sessions/analytics_2.py", parallelism=3, savepoint=savepoint)
        for number, text in enumerate(files(3).values()):
            # the time goes on from file to file, so that clicks of the one before are late
            arrive(directory, 3, since=number, until=number + 1)
            newest = max(json.loads(line)["time"] for line in text.splitlines())
            application.wait_for(lambda at=newest: watermark() >= at - 2 * MINUTE - 1)
        check_queries(application)
        application.stop("--drain")
        check(application)


def check_queries(application: Application) -> None:
    state = str(application.directory / "state/checkpoints")
    client = QueryableStateClient.of_job(state, application.job, wait=30)
    expected = expected_profiles(1, 2, 3)

    def answer() -> Any:
        return client.get_all("profiles", "profiles", ["u01", "u02"])

    application.wait_for(lambda: answer()["u01"]["clicks"] == expected["u01"][0])
    bought = Counter(one["user"] for one in clicks(3) if one["page"] == "paid")
    assert answer() == {
        user: {
            "clicks": expected[user][0], "last_seen": expected[user][1], "purchases": bought[user],
        }
        for user in ("u01", "u02")
    }  # fmt: skip


def check(application: Application) -> None:
    """Compare what is in the files with loops over all clicks."""
    emitted = {
        (one["user"], one["start"], one["end"], one["clicks"], one["paid"])
        for one in application.written("visits")
    }
    final = {one for one in emitted if not any(replaces(other, one) for other in emitted)}
    assert final == set(expected_visits())
    assert len(emitted) > len(final) > 150

    top = application.written("top")
    assert {one["hour"]: one["top"] for one in top} == expected_top()
    assert len(top) == len(expected_top())
    late = [(one["user"], one["time"]) for one in application.written("late")]
    assert sorted(late) == [("u03", FIRST + 12 * HOUR), ("u03", FIRST + DAY + 12 * HOUR)]
    new = Counter(one["new user"] for one in application.written("users"))
    assert new == Counter({one["user"] for day in (1, 2, 3) for one in clicks(day)})
    undecided = application.written("undecided")
    assert undecided
    assert all(one["clicks"] >= 5 and not one["paid"] for one in undecided)


def replaces(other: Any, one: Any) -> bool:
    """Whether another visit covers one, with more clicks."""
    covers = other[0] == one[0] and other[1] <= one[1] and other[2] >= one[2]
    return covers and other[3] > one[3]


def arrive(directory: Path, day: int, since: int = 0, until: int = FILES) -> None:
    for name, text in list(files(day).items())[since:until]:
        deliver(directory / "inbox", name, text)


def in_time() -> Iterator[tuple[int, Click]]:
    """All clicks that are not too late, with the day of their arrival."""
    for day in (1, 2, 3):
        for one in clicks(day):
            if one["time"] >= FIRST + (day - 1) * DAY:
                yield day, one


def expected_visits() -> Iterator[tuple[str, str, str, int, bool]]:
    by_user = defaultdict(list)
    for _, one in in_time():
        by_user[one["user"]].append(one)
    for user, found in by_user.items():
        found.sort(key=lambda one: one["time"])
        visit = [found[0]]
        for before, one in pairwise([*found, {"time": 1 << 62}]):
            # windows that touch are merged, too
            if one["time"] - before["time"] <= 30 * MINUTE:
                visit.append(one)
                continue
            paid = any(click["page"] == "paid" for click in visit)
            yield user, text(visit[0]["time"]), text(visit[-1]["time"]), len(visit), paid
            visit = [one]


def expected_top() -> dict[str, list[list[Any]]]:
    """By hour; an hour is ranked by the version that runs when it is over."""
    hours: dict[int, Counter[str]] = defaultdict(Counter)
    for _, one in in_time():
        hours[one["time"] // HOUR * HOUR][one["page"]] += 1
    found = {}
    for hour, counts in hours.items():
        size = 3 if hour + 2 * HOUR <= FIRST + 2 * DAY - 2 * MINUTE - 2 else 5
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        found[text(hour)] = [list(item) for item in ranked[:size]]
    return found


def expected_profiles(*days: int) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for day in days:
        for one in clicks(day):
            seen, last = found.get(one["user"], (0, 0))
            found[one["user"]] = seen + 1, max(last, one["time"])
    return found


def text(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
