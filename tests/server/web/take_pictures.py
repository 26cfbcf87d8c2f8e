"""Takes the pictures of the web UI that stand in the documentation: ``make web-pictures``.

They show made-up jobs at one moment, so taking them again changes only what the UI has changed.
``make web-pictures ARGS="--real DIRECTORY"`` takes pictures of every page beside real jobs instead,
for people who look at them (see tour.py).
"""

from __future__ import annotations

import base64
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PICTURES = ROOT / "docs" / "pictures" / "web-ui"
NOW = 1_795_525_509_000
QUALITY = 62
DESKTOP, PHONE = (1280, 800), (390, 780)


@dataclass(frozen=True)
class Picture:
    """A page as it is shown: of which job, if of one, and whether in the dark or on a phone."""

    path: str
    text: str
    """Stands on the page when it is complete."""
    dark: bool = False
    phone: bool = False
    job: str = "Orders to revenue"
    press: str = ""
    """A button that is pressed first, by its text."""


OF_JOB = "/jobs/{job}"
COMPARED = "/savepoints/compare?left=s3://checkpoints/savepoint-a1-00050"
PAGES = {
    "jobs": Picture("/jobs", "Sensor cleanup"),
    "job": Picture(OF_JOB, "Throughput"),
    "job-dark": Picture(OF_JOB, "Throughput", dark=True, press="Revenue per product"),
    "job-phone": Picture(OF_JOB, "Throughput", phone=True),
    "hundred-operators": Picture(OF_JOB, "Step 10.10", dark=True, job="Hundred operators"),
    "query": Picture(OF_JOB, "groupBy product", job="Revenue in SQL", press="GroupAggregate"),
    "plan": Picture(f"{OF_JOB}/plan", "distribution=[hash]", job="Revenue in SQL"),
    "timeline": Picture(f"{OF_JOB}/timeline", "Started again", dark=True),
    "flame": Picture(f"{OF_JOB}/flame", "fraud_rules.py:23"),
    "runs": Picture("/jobs/compare?left={job}&right={other}", "Largest parallelism"),
    "worker": Picture("/workers/worker-1%3A34021", "rate_of"),
    "checkpoints": Picture(f"{OF_JOB}/checkpoints", "191093"),
    "exceptions": Picture(f"{OF_JOB}/exceptions", "fraud_rules.py", job="Fraud alerts"),
    "stacks": Picture(f"{OF_JOB}/stacks", "rate_of"),
    "log": Picture(f"{OF_JOB}/log", "epoch: 191203", dark=True),
    "metrics": Picture(f"{OF_JOB}/metrics", "66.3M", press="Chart"),
    "configuration": Picture(f"{OF_JOB}/configuration", "execution.checkpointing.dir"),
    "savepoints": Picture("/savepoints", "Orders to revenue (branch)"),
    "compare": Picture(f"{COMPARED}&right=s3://checkpoints/savepoint-a3-00009", "4,410 changed"),
    "submit": Picture("/submit?savepoint=s3%3A%2F%2Fcheckpoints%2Fsavepoint-a3", "sessions.py"),
    "stop": Picture(OF_JOB, "Throughput", press="Stop"),
    "server": Picture("/server", "worker-2"),
    "login": Picture("/jobs", "Token", phone=True),
}


def take(browser: Any, url: str, jobs: Any, picture: Picture) -> bytes:
    """A picture in WebP."""
    width, height = PHONE if picture.phone else DESKTOP
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if picture.dark else "light",
        reduced_motion="reduce",
        timezone_id="UTC",
    )
    page = context.new_page()
    page.clock.set_fixed_time(datetime.fromtimestamp(NOW / 1000, UTC))
    job = next(job for job in jobs.jobs.values() if job.name == picture.job)
    other = next(other for other in jobs.jobs.values() if other.name == "Backfill of October")
    page.goto(f"{url}#{picture.path.format(job=job.id, other=other.id)}")
    page.get_by_text(picture.text).first.wait_for(state="attached")
    if picture.press:
        page.locator("button", has_text=picture.press).first.click()
    page.wait_for_load_state("networkidle")
    page.evaluate("document.fonts.ready")
    session = context.new_cdp_session(page)
    shot = {"format": "webp", "quality": QUALITY}
    data = session.send("Page.captureScreenshot", shot)["data"]
    context.close()
    return base64.b64decode(data)


def main() -> None:
    """Take those that are named as arguments, or all, or those of real jobs."""
    sys.path[:0] = [str(HERE), str(ROOT / "tests" / "services")]
    from chromium import Chromium
    from fake_jobs import FakeJobs
    from fake_server import FakeServer
    from playwright.sync_api import sync_playwright

    if sys.argv[1:2] == ["--real"]:
        from tour import take_tour

        take_tour(Path(sys.argv[2]).absolute())
        return
    names = sys.argv[1:] or list(PAGES)
    PICTURES.mkdir(parents=True, exist_ok=True)
    jobs = FakeJobs(lambda: NOW)
    Chromium.install()
    with (
        FakeServer(jobs).running() as free,
        FakeServer(jobs, needs_token=True).running() as guarded,
        sync_playwright() as playwright,
    ):
        browser = Chromium(ROOT / ".services" / "pictures").launch(playwright)
        for name in names:
            server = guarded if name == "login" else free
            shot = take(browser, server.url, jobs, PAGES[name])
            (PICTURES / f"{name}.webp").write_bytes(shot)
        browser.close()


if __name__ == "__main__":
    main()
