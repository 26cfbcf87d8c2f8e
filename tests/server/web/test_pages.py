"""Every page: what axe finds, on a phone, and whether it obeys the server's content policy."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_window import PHONE, Window
from fake_jobs import RETAINED, FakeJob, FakeJobs
from fake_server import FakeServer
from playwright.sync_api import expect
from turns import some_of

GRAVE = {"serious", "critical"}


def pages(jobs: FakeJobs) -> dict[str, str]:
    """Paths of all pages, each with a text that shows that it is complete."""
    by_name: dict[str, FakeJob] = {job.name: job for job in jobs.jobs.values()}
    orders, fraud = (
        f"/jobs/{by_name['Orders to revenue'].id}",
        f"/jobs/{by_name['Fraud alerts'].id}",
    )
    carts = f"/jobs/{by_name['Shopping carts'].id}"
    query = f"/jobs/{by_name['Revenue in SQL'].id}"
    return {
        "/jobs": "Sensor cleanup",
        orders: "Throughput",
        f"/jobs/{by_name['Hundred operators'].id}": "Step 10.10",
        fraud: "See the traceback",
        query: "groupBy product, currency",
        f"{query}/plan": "Exchange(distribution=[hash])",
        f"{orders}/plan": "has not reported its plan",
        f"{orders}/timeline": "Started again",
        f"{orders}/flame": "fraud_rules.py:23",
        f"/jobs/compare?left={orders[-32:]}&right={fraud[-32:]}": "Largest parallelism",
        f"{carts}/functions": "com.example.shop",
        f"{orders}/checkpoints": "191093",
        f"{fraud}/exceptions": "fraud_rules.py",
        f"{orders}/exceptions": "Nothing has gone wrong",
        f"{orders}/stacks": "rate_of",
        f"{orders}/log": "epoch: 191203",
        f"{orders}/metrics": "numRecordsInPerSecond",
        f"{orders}/configuration": "execution.checkpointing.dir",
        "/savepoints": "Orders to revenue (branch)",
        "/savepoints/compare?left=a&right=b": "4,410 changed",
        "/submit?savepoint=s3%3A%2F%2Fa": "sessions.py",
        "/server": "worker-2",
        "/workers/worker-1%3A34021": "rate_of",
        "/nothing": "There is no such page",
    }


def complete(window: Window, server: FakeServer, path: str, text: str) -> None:
    window.open(server.url, path)
    expect(window.page.get_by_text(text).first).to_be_attached()
    expect(window.page.locator("[aria-busy=true]")).to_have_count(0)


def grave(results: Any) -> list[str]:
    return [
        f"{found['id']}: {found['nodes'][0]['html'][:200]}"
        for found in results.response["violations"]
        if found["impact"] in GRAVE
    ]


@pytest.mark.parametrize(
    ("theme", "rules"),
    [("light", {}), ("dark", {"runOnly": ["color-contrast"]})],  # all else is the same in both
    ids=["light", "dark"],
)
def test_axe_finds_nothing_serious(theme, rules, window, fake) -> None:
    seen = window(color_scheme=theme, reduced_motion="reduce")
    found = {}
    for path, text in some_of(pages(fake.jobs).items(), 7):
        complete(seen, fake, path, text)
        if problems := grave(
            Axe().run(seen.page, options={"resultTypes": ["violations"], **rules})
        ):
            found[path] = problems
    assert found == {}


CUT_OFF = """() => [...document.querySelectorAll("main select")].filter((select) => {
    select.append(new Option("an operator with a very long name ".repeat(9), "", true, true));
    const box = select.getBoundingClientRect();
    return box.left < 0 || box.right > innerWidth;
}).map((select) => select.getAttribute("aria-label"))"""
"""Fields whose longest choice does not fit: a panel hides what is beyond its edge."""


SQUEEZED = """() => [...document.querySelectorAll("main td, main td *")].filter((box) => {
    if (box.matches("td") && box.clientWidth > 0 && box.clientWidth < 60) return true;
    const hides = getComputedStyle(box).overflowX === "hidden";
    return hides && box.scrollWidth > box.clientWidth + 1;
}).map((box) => box.textContent)"""
"""Cells that are too narrow for their headings, or that hide a part of their text."""


def test_nothing_reaches_beyond_the_edge_of_a_phone(window, fake) -> None:
    seen = window(viewport=PHONE)
    widths = {}
    for path, text in some_of(pages(fake.jobs).items(), 7):
        complete(seen, fake, path, text)
        widths[path] = seen.page.evaluate("document.documentElement.scrollWidth")
        cut = seen.page.evaluate(CUT_OFF)
        assert cut == [], path
        assert seen.page.evaluate(SQUEEZED) == [], path
    assert {path: width for path, width in widths.items() if width > PHONE["width"]} == {}


def test_a_chosen_theme_outlives_the_page(window, fake) -> None:
    seen = window(color_scheme="light")
    seen.open(fake.url)
    seen.page.get_by_label("Theme").select_option("dark")
    dark = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    seen.open(fake.url)
    expect(seen.page.get_by_label("Theme")).to_have_value("dark")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    seen.page.get_by_label("Theme").select_option("light")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_only_what_is_kept_can_be_started_from(window, fake) -> None:
    seen = window()
    job = next(job for job in fake.jobs.jobs.values() if job.runs)
    seen.open(fake.url, f"/jobs/{job.id}/checkpoints")
    expect(seen.page.get_by_role("link", name="Start from")).to_have_count(RETAINED)
    expect(seen.page.get_by_text("Deleted", exact=True).first).to_be_visible()


def test_a_graph_says_what_operators_do_and_how_records_travel(window, fake) -> None:
    seen = window()
    job = next(job for job in fake.jobs.jobs.values() if job.name == "Revenue in SQL")
    seen.open(fake.url, f"/jobs/{job.id}")
    aggregate = seen.page.locator(".operator", has_text="GroupAggregate")
    expect(aggregate.locator(".lines > span").first).to_have_text("groupBy product, currency")
    expect(aggregate.get_by_text(re.compile("Skew .3.4"))).to_be_visible()
    expect(aggregate).to_contain_text("Busy 96 / 77 %")
    source = seen.page.locator(".operator", has_text="orders[1]")
    expect(source).to_have_class("operator pressed")
    expect(source).to_contain_text("Calc: where (amount > 10), select product")
    expect(seen.page.locator(".ship")).to_have_text(["hash", "forward"])
    aggregate.click()
    panel = seen.page.get_by_role("complementary")
    expect(panel.get_by_text("SUM(amount) AS revenue")).to_be_visible()
    expect(panel.get_by_text("3.4 times the mean")).to_be_visible()


def test_a_stage_shows_the_records_of_each_operator(window, fake) -> None:
    seen = window()
    job = next(job for job in fake.jobs.jobs.values() if job.name == "Revenue in SQL")
    seen.open(fake.url, f"/jobs/{job.id}")
    seen.page.locator(".operator", has_text="orders[1]").click()
    panel = seen.page.get_by_role("complementary")
    expect(panel.get_by_text("41,000 in, 40,000 out")).to_be_visible()
    expect(panel.get_by_text("40,000 in, 39,000 out")).to_be_visible()
    expect(panel.get_by_text("State is measured for the stage")).to_be_visible()
    expect(panel.get_by_role("columnheader", name="Watermark")).to_be_visible()


def test_warnings_of_workers_are_shown(window, fake) -> None:
    seen = window()
    job = next(job for job in fake.jobs.jobs.values() if job.notices)
    seen.open(fake.url, f"/jobs/{job.id}/exceptions")
    expect(seen.page.get_by_text("Nothing has gone wrong")).to_be_visible()
    rows = seen.page.get_by_role("region", name="Messages of workers").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("connection refused")
    expect(rows.nth(1)).to_contain_text("functions, subtask 0, 1")
    expect(rows.nth(2)).to_contain_text("listens on http://127.0.0.1:8090")


def test_the_record_that_a_function_failed_for_is_shown(window, fake) -> None:
    seen = window()
    job = next(job for job in fake.jobs.jobs.values() if job.exceptions)
    seen.open(fake.url, f"/jobs/{job.id}/exceptions")
    expect(seen.page.get_by_text("{'card': None, 'cents': 1200}").first).to_be_visible()
