"""A tour of the web UI beside real jobs: ``take_pictures.py --real DIRECTORY``.

A job server runs jobs on resident tasks of Spark: a query, a stream with back pressure and skew,
Stateful Functions, and a job that fails. Each page is opened at the widths of a desktop and of a
phone, in light and dark colours; its picture and what is wrong with it go to the directory.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "jobs"
SIZES = {"wide": (1440, 900), "phone": (390, 844)}
THEMES = ("light", "dark")
WATCHED_MS = 2_500
"""Milliseconds for which a page is watched for shifts of its layout: a refresh."""
SETTINGS = {
    "millrace.executor": "resident",
    "spark.master": "local[4]",
    "parallelism.default": "2",
    "spark.driver.memory": "700m",
}
SHIFTS = """() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const { value, hadRecentInput, sources } of list.getEntries()) {
            const moved = sources.map(({ node }) => node?.className || node?.nodeName || "?");
            if (!hadRecentInput) window.shifts.push([value, ...moved.map(String).slice(0, 3)]);
        }
    }).observe({ type: "layout-shift" });
}"""
CLIPPED = """() => {
    const found = [];
    if (document.documentElement.scrollWidth > innerWidth) found.push("the page is too wide");
    for (const element of document.querySelectorAll("main *, header *")) {
        const style = getComputedStyle(element);
        const drawn = element.closest(
            ".hidden, thead, .marks, .flames, svg, .uplot, .log, pre, [title]"
        );
        if (!element.checkVisibility() || drawn || element.clientWidth === 0) continue;
        const name = String(element.className || element.tagName);
        const scrolls = ["auto", "scroll"].includes(style.overflowX);
        const fits = element.scrollWidth <= element.clientWidth + 1;
        if (fits || style.overflowX === "visible") continue;
        if (!scrolls) found.push(`cut off: ${name}: ${element.textContent.slice(0, 60)}`);
        else if (innerWidth < 500 && element.matches(".table, .tools, .facts, .panel"))
            found.push(`scrolls sideways: ${name}`);
    }
    return [...new Set(found)];
}"""
SMALL = """() => [...document.querySelectorAll("main :is(button, a.button, select, input), nav a")]
    .filter((it) => it.checkVisibility() && !it.closest(".flames, .canvas, p, td, dd"))
    .filter((it) => {
        const { height } = it.getBoundingClientRect();
        return height > 0 && height < 24;
    })
    .map((it) => `small target: ${it.getAttribute("aria-label") || it.textContent}`.slice(0, 80))"""


@dataclass
class Findings:
    """What is wrong with the pages, by page and setting."""

    of: dict[str, list[str]] = field(default_factory=dict)

    def add(self, page: str, faults: list[str]) -> None:
        if faults:
            self.of.setdefault(page, []).extend(faults)


@dataclass(frozen=True)
class Stop:
    """A page, and what is pressed on it before it is looked at."""

    name: str
    path: str
    press: tuple[str, ...] = ()
    """Selectors."""
    wait: str = ""
    """A selector of what shows that the page is complete."""


def stops(jobs: Mapping[str, str], worker: str) -> Iterator[Stop]:
    """All pages, some of them for several jobs."""
    tabs = {
        "overview": ".operator", "plan": "pre.plan, .empty", "timeline": ".timeline",
        "checkpoints": ".table", "exceptions": ".panel", "stacks": ".panel",
        "flame": ".flames, .empty:not([aria-busy])", "log": ".log div", "metrics": ".table",
        "configuration": ".table",
    }  # fmt: skip
    yield Stop("jobs", "/jobs", wait=".table")
    for job, id in jobs.items():
        shown = {**tabs, **({"functions": ".panel"} if job == "carts" else {})}
        if job in ("payments", "carts"):
            few = ("overview", "exceptions", "timeline", "flame", "functions")
            shown = {tab: wait for tab, wait in shown.items() if tab in few}
        for tab, wait in shown.items():
            yield Stop(f"{job}-{tab}", f"/jobs/{id}/{tab}", wait=wait)
        if job != "payments":
            yield Stop(f"{job}-stage", f"/jobs/{id}", (".operator >> nth=1",), ".side .table")
    yield Stop(
        "records",
        f"/jobs/{jobs['visits']}",
        (".operator >> nth=1", "text=Show records"),
        ".records li",
    )
    yield Stop("stop", f"/jobs/{jobs['visits']}", ("text=Stop >> nth=0",), "dialog[open]")
    yield Stop(
        "charted", f"/jobs/{jobs['visits']}/metrics", ("[aria-label^='Chart of']",), ".metric-chart"
    )
    yield Stop(
        "runs", f"/jobs/compare?left={jobs['revenue']}&right={jobs['visits']}", wait=".table"
    )
    yield Stop("savepoints", "/savepoints", wait=".panel")
    yield Stop("submit", "/submit", wait=".form")
    yield Stop("server", "/server", wait=".table")
    yield Stop("worker", f"/workers/{worker.replace(':', '%3A')}", wait=".table")
    yield Stop("gone", f"/jobs/{'0' * 32}", wait=".empty, [role=alert]")
    yield Stop("nowhere", "/nowhere", wait=".empty")


def look(browser: Any, url: str, all_stops: list[Stop], directory: Path) -> Findings:
    """Take the pictures of all pages and collect what is wrong with them."""
    from axe_playwright_python.sync_playwright import Axe

    findings = Findings()
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=theme, timezone_id="UTC"
            )
            page = context.new_page()
            page.set_default_timeout(30_000)
            for stop in all_stops:
                name = f"{stop.name}-{size}-{theme}"
                page.goto("about:blank")
                page.goto(f"{url}#{stop.path}")
                try:
                    for selector in stop.press:
                        page.locator(selector).first.click()
                    page.locator(stop.wait).first.wait_for()
                    page.locator("[aria-busy=true]").first.wait_for(state="detached")
                except Exception as error:
                    findings.add(name, [str(error).splitlines()[0]])
                page.wait_for_timeout(400)
                watched = theme == "light" and not stop.press
                if watched:
                    page.evaluate(SHIFTS)
                    page.wait_for_timeout(WATCHED_MS)
                    shifts = page.evaluate("window.shifts")
                    findings.add(name, [f"shift {s[0]:.4f}: {s[1:]}" for s in shifts[:5]])
                page.screenshot(path=directory / f"{name}.png", full_page=not stop.press)
                if theme == "light":
                    findings.add(name, page.evaluate(CLIPPED) + page.evaluate(SMALL))
                if size != "wide":
                    continue
                found = Axe().run(page, options={"resultTypes": ["violations"]})
                findings.add(
                    name,
                    [
                        f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:140]}"
                        for each in found.response["violations"]
                    ],
                )
            context.close()
    return findings


@contextmanager
def real_jobs(directory: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """A server of real jobs, and the ids of these."""
    sys.path[:0] = [str(HERE.parent)]
    from running_server import SPARK, RunningServer, await_that

    server = RunningServer(directory / "server", program=SPARK)
    try:
        jobs = {}
        jobs["payments"] = server.submit(PROGRAMS / "payments.py", configuration=SETTINGS)
        failed = lambda: server.get(f"/jobs/{jobs['payments']}")["state"] == "FAILED"  # noqa: E731
        await_that(failed, "the failure")
        for name in ("revenue", "visits", "carts"):
            jobs[name] = server.submit(PROGRAMS / f"{name}.py", configuration=SETTINGS)
            checkpoints = f"/jobs/{jobs[name]}/checkpoints"
            await_that(
                lambda: server.get(checkpoints)["counts"]["completed"] > 1,  # noqa: B023
                f"a checkpoint of {name}",
            )
        path = f"/jobs/{jobs['visits']}/savepoints"
        server.post(path, json={"cancel-job": False})
        server.http.patch(f"/jobs/{jobs['revenue']}/rescaling?parallelism=2")
        time.sleep(20)
        yield server, jobs
    finally:
        server.end()


def take_tour(directory: Path) -> None:
    """Run the jobs, take the pictures, and write ``findings.json``."""
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "services")]
    from chromium import Chromium
    from playwright.sync_api import sync_playwright

    directory.mkdir(parents=True, exist_ok=True)
    with real_jobs(directory) as (server, jobs), sync_playwright() as playwright:
        browser = Chromium(directory / "chromium").launch(playwright)
        [worker, *_] = [each["id"] for each in server.get("/taskmanagers")["taskmanagers"]]
        findings = look(browser, f"{server.url.rstrip('/')}/", list(stops(jobs, worker)), directory)
        browser.close()
    (directory / "findings.json").write_text(json.dumps(findings.of, indent=1))
    number = sum(map(len, findings.of.values()))
    print(f"{number} findings on {len(findings.of)} pages, see {directory}")
