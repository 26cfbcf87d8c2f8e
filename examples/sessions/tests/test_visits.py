"""Tests of the functions in ``visits.py``: ``python -m pytest`` in the directory above."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analytics import LATE, read_clicks, visits
from analytics_2 import Customer, Customers
from visits import GAP, LATENESS, Click, Profile, Profiles, TopPages, Views

from millrace.common import Time
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Timer

MINUTE = Time.minutes(1).to_milliseconds()
HOUR = 60 * MINUTE


def click(minute: int, page: str = "home", user: str = "ann") -> Click:
    return Click(user, minute * MINUTE, page)


def push(source: Any, *clicks: Click) -> None:
    for one in clicks:
        source.push(one, timestamp=one.time)


def test_a_visit_ends_with_a_gap(mini_job: Any) -> None:
    source = mini_job.source("clicks")
    found = mini_job.collect(visits(source.stream.key_by(lambda click: click.user)))
    push(source, click(0), click(29, "paid"), click(10, user="bob"), click(60))
    source.push_watermark(29 * MINUTE + GAP.to_milliseconds() - 1)
    mini_job.process()
    assert [(one["user"], one["clicks"], one["paid"]) for one in found.values()] == [
        ("bob", 1, False), ("ann", 2, True),
    ]  # fmt: skip
    assert found.values()[1]["end"] == "1970-01-01 00:29:00"


def test_a_late_click_joins_two_visits(mini_job: Any) -> None:
    source = mini_job.source("clicks")
    stream = visits(source.stream.key_by(lambda click: click.user))
    found, late = mini_job.collect(stream), mini_job.collect(stream.get_side_output(LATE))
    push(source, click(0), click(40))
    source.push_watermark(80 * MINUTE)
    mini_job.process()
    assert [one["clicks"] for one in found.values()] == [1, 1]
    push(source, click(20))
    mini_job.process()
    assert (found.values()[-1]["clicks"], late.values()) == (3, [])
    source.push_watermark(70 * MINUTE + LATENESS.to_milliseconds())
    mini_job.process()
    push(source, click(21))
    mini_job.finish()
    assert late.values() == [click(21)]


def test_the_best_pages_wait_for_late_clicks(operator_harness: Any) -> None:
    harness = operator_harness(TopPages(2), key_by=lambda view: view.hour)
    for page, views in (("home", 3), ("cart", 1), ("lamps", 2), ("cart", 4)):
        harness.process_element(Views(0, page, views), HOUR - 1)
    assert harness.event_time_timers() == [Timer(2 * HOUR, 0)]
    harness.process_watermark(2 * HOUR)
    [best] = harness.output()
    assert best["top"] == [("cart", 4), ("home", 3)]
    assert harness.keys("counts") == []


def test_profiles_survive_the_upgrade(operator_harness: Any) -> None:
    """The state of version 1 in the function of version 2."""
    old = operator_harness(Profiles(), key_by=lambda click: click.user)
    old.process_elements([click(5), click(3), click(4, user="bob")])
    assert old.output() == [{"new user": "ann"}, {"new user": "bob"}]
    assert old.state("profile", "ann") == Profile(clicks=2, last_seen=5 * MINUTE)

    new = operator_harness(Customers(), key_by=lambda click: click.user).restored(old.snapshot())
    new.process_element(click(9, "paid"))
    assert new.output() == []
    assert new.state("profile", "ann") == Customer(clicks=3, last_seen=9 * MINUTE, purchases=1)


def test_clicks_are_read(tmp_path: Path, millrace_local: Any) -> None:
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "one.jsonl").write_text('{"user": "ann", "time": 1, "page": "home"}\n')
    env = StreamExecutionEnvironment.get_execution_environment()
    pages = read_clicks(env, tmp_path).map(lambda click: click.page)
    assert pages.execute_and_collect("clicks", limit=1) == ["home"]
