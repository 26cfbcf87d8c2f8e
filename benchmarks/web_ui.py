"""How soon the web UI shows a job of a hundred operators, and how much it loads for that."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from statistics import median
from typing import Any

from bar import Data, Row, Section
from bench_server import WITHOUT_SPARK, bench_server
from job_process import JOBS, MeasurementError

TITLE = "Web UI"
PAINT_MS, BUNDLE_KB = 1_000, 300
ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "src" / "millrace" / "server" / "web"
SERVICES = ROOT / "tests" / "services"
OPERATORS = 100
EPOCHS = 5
"""Before it is looked at: there are rates and points of charts then."""
SHOWN = (".html", ".js", ".css", ".svg", ".woff2")
COMPRESSED = (".html", ".js", ".css", ".svg")

PAINT = """performance.getEntriesByName("first-contentful-paint")[0]?.startTime"""
BYTES = """performance.getEntriesByType("resource")
    .concat(performance.getEntriesByType("navigation"))
    .reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


def measure(quick: bool) -> Data:
    """Load the page of a job again and again, each time in a browser that knows nothing of it."""
    sys.path.insert(0, str(SERVICES))
    from chromium import Chromium
    from playwright.sync_api import sync_playwright
    from service import ServiceUnavailableError

    try:
        Chromium.install()
    except ServiceUnavailableError as error:
        raise MeasurementError(str(error)) from None
    with bench_server(WITHOUT_SPARK) as server, sync_playwright() as playwright:
        job = server.submit(JOBS / "hundred_operators.py")
        server.await_epoch(job, EPOCHS)
        browser = Chromium(ROOT / ".services" / "chromium-bench").launch(playwright)
        url = f"{server.url}/#/jobs/{job}"
        loads = [_load(browser, url, OPERATORS) for _ in range(3 if quick else 15)]
        browser.close()
    return {"loads": loads, "operators": OPERATORS, "bundle": bundle_bytes()}


def _load(browser: Any, url: str, operators: int) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(url)
    last = page.locator(".operator").nth(operators - 1)
    last.wait_for(state="attached")
    graph = page.evaluate("performance.now()")
    page.locator(".plot canvas").first.wait_for()
    load = {
        "paint_ms": page.evaluate(PAINT),
        "graph_ms": graph,
        "bytes": page.evaluate(BYTES),
    }
    context.close()
    return load


def bundle_bytes() -> int:
    """All that a browser may load of the UI, as it is sent."""
    files = [path for path in WEB.rglob("*") if path.suffix in SHOWN]
    return sum(
        len(gzip.compress(path.read_bytes(), 9))
        if path.suffix in COMPRESSED
        else path.stat().st_size
        for path in files
    )


def section(data: Data) -> Section:
    paints = [load["paint_ms"] for load in data["loads"]]
    graphs = [load["graph_ms"] for load in data["loads"]]
    bundle = data["bundle"] / 1_000
    rows = [
        Row(
            f"first paint of the web UI on loopback, job of {data['operators']} operators",
            f"under {PAINT_MS / 1_000:.0f} s",
            f"{median(paints):.0f} ms",
            median(paints) < PAINT_MS,
        ),
        Row(
            "size of the web UI, compressed",
            f"under {BUNDLE_KB} KB",
            f"{bundle:.0f} KB",
            bundle < BUNDLE_KB,
        ),
    ]
    text = (
        "A job server with a job that runs, without Spark, in epochs of 2 s. "
        f"Headless Chromium without a cache, {len(paints)} times: first contentful paint, median "
        f"{median(paints):.0f} ms, worst {max(paints):.0f} ms; the whole graph laid out and drawn, "
        f"median {median(graphs):.0f} ms, worst {max(graphs):.0f} ms. With the data of the page "
        f"{median(load['bytes'] for load in data['loads']) / 1_000:.0f} KB were loaded. The size "
        "is of all files, the font and what is loaded only with a graph or a chart included."
    )
    return Section(rows, [text])
