"""What people do with the web UI: look for what is slow, control jobs, log in, with keys alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from fake_jobs import FakeJob, FakeJobs
from fake_server import OPERATE, READ, FakeServer
from playwright.sync_api import expect


def job_named(server: FakeServer, name: str) -> FakeJob:
    return next(job for job in server.jobs.jobs.values() if job.name == name)


@pytest.fixture
def orders(fake: FakeServer) -> FakeJob:
    return job_named(fake, "Orders to revenue")


@pytest.fixture
def guarded() -> Iterator[FakeServer]:
    """A server that wants a token."""
    jobs = FakeJobs(lambda: round(time.time() * 1000))
    with FakeServer(jobs, needs_token=True).running() as server:
        yield server


@pytest.mark.turns(7)
def test_overview_leads_to_a_job_and_its_slowest_operator(window, fake, orders) -> None:
    page = window().page
    page.goto(fake.url)
    page.get_by_role("link", name="Orders to revenue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Orders to revenue")
    slow = page.locator(".operator.slow")
    expect(slow).to_contain_text("Revenue per product")
    expect(slow).to_contain_text("Busy 93 / 74 %")
    expect(page.locator(".operator")).to_have_count(len(orders.operators))
    page.get_by_role("button", name="Revenue per product, 1 min windows", exact=True).click()
    panel = page.get_by_role("complementary")
    expect(panel.get_by_role("row")).to_have_count(1 + orders.parallelism)
    expect(panel).to_contain_text("18.4k/s")


@pytest.mark.turns(7)
def test_figures_are_live(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    expect(page.get_by_label("The job at a glance")).to_contain_text("18.4k/s")
    orders.restarts = 7
    expect(page.get_by_label("The job at a glance")).to_contain_text("Restarts7")


@pytest.mark.turns(7)
def test_a_job_that_does_not_get_on_says_where_it_is(window, fake, orders) -> None:
    page = window().page
    orders.waits_for = "epoch 3 running for 57 s in 'Parse and check' (subtask 0)"
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    expect(page.locator(".notice")).to_contain_text("Epoch 3 running for 57 s in 'Parse and check'")
    page.get_by_role("link", name="See the stacks").click()
    expect(page.get_by_role("heading", name="Stacks of the workers")).to_be_visible()


@pytest.mark.turns(7)
def test_a_long_name_leaves_room_for_what_stands_beside_it(window, fake, orders) -> None:
    page = window().page
    orders.name = "x" * 300
    page.goto(fake.url)
    jobs = page.get_by_role("region", name="Running jobs")
    expect(jobs.get_by_role("link", name=orders.name)).to_be_visible()
    assert jobs.evaluate("it => it.scrollWidth <= it.clientWidth")


@pytest.mark.turns(7)
def test_the_header_stays_in_sight_when_the_page_changes(window, fake) -> None:
    page = window(viewport={"width": 1280, "height": 400}).page
    page.goto(fake.url)
    page.get_by_role("link", name="Savepoints").click()
    expect(page.get_by_role("heading", name="Savepoints", exact=True)).to_be_visible()
    expect(page.locator("main")).to_be_focused()
    assert page.evaluate("scrollY") == 0


@pytest.mark.turns(7)
def test_jobs_are_found_and_sorted(window, fake) -> None:
    page = window().page
    page.goto(fake.url)
    names = page.get_by_role("region", name="Running jobs").locator("tbody td:first-child")
    expect(names).to_have_count(6)
    page.get_by_role("button", name="Records/s").click()
    expect(names.last).to_have_text("Shopping carts")
    expect(names.nth(4)).to_have_text("Hundred operators")
    expect(page.get_by_role("columnheader", name="Records/s")).to_have_attribute(
        "aria-sort", "descending"
    )
    page.get_by_label("Find a job").fill("click")
    expect(names).to_have_text(["Click sessions"])


@pytest.mark.turns(7)
def test_cancel_asks_first(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Back").click()
    expect(dialog).to_have_count(0)
    assert orders.state == "RUNNING"
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog.get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("The job is being cancelled.")).to_be_visible()
    expect(page.locator(".heading .status")).to_have_text("Cancelled")
    expect(page.get_by_role("group", name="Control the job")).to_have_count(0)


@pytest.mark.turns(7)
def test_stop_with_a_savepoint(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_label("Directory").fill("s3://elsewhere")
    page.get_by_label("Drain").check()
    page.get_by_role("button", name="Stop the job").click()
    expect(page.get_by_text("savepoint-last")).to_be_visible()
    assert fake.received == [{"drain": True, "targetDirectory": "s3://elsewhere"}]
    assert orders.state == "FINISHED"


@pytest.mark.turns(7)
def test_take_a_savepoint_of_a_chosen_job(window, fake) -> None:
    page = window().page
    page.goto(f"{fake.url}#/savepoints")
    page.get_by_role("button", name="Take a savepoint").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Job").select_option("Click sessions")
    dialog.get_by_role("button", name="Take savepoint").click()
    expect(page.get_by_text("Savepoint taken: s3://checkpoints/savepoint-new")).to_be_visible()
    assert job_named(fake, "Click sessions").savepoints == ["s3://checkpoints/savepoint-new"]


@pytest.mark.turns(7)
def test_two_savepoints_are_compared_the_older_one_first(window, fake) -> None:
    page = window().page
    page.goto(f"{fake.url}#/savepoints")
    boxes = page.get_by_role("checkbox")
    expect(boxes).to_have_count(7)
    boxes.nth(0).check()
    boxes.nth(6).check()
    page.get_by_role("button", name="Compare the two").click()
    expect(page.get_by_text("4,410 changed")).to_be_visible()
    assert page.locator(".compared dd").all_inner_texts() == [
        "s3://checkpoints/savepoint-a1-00050",
        "s3://checkpoints/savepoint-a4-00001",
    ]


@pytest.mark.turns(7)
def test_branch_from_a_savepoint_with_an_uploaded_program(window, fake) -> None:
    page = window().page
    page.goto(f"{fake.url}#/savepoints")
    page.get_by_role("link", name="Branch off the Savepoint").last.click()
    expect(page.get_by_label("Name")).to_have_value("Orders to revenue (branch)")
    page.locator("input[type=file]").set_input_files(
        {"name": "new_orders.py", "mimeType": "text/x-python", "buffer": b"print()"}
    )
    expect(page.get_by_role("radio", name="new_orders.py")).to_be_checked()
    page.get_by_label("Arguments").fill("--city\nNew York")
    page.get_by_label("Parallelism").fill("3")
    page.get_by_label("Settings").fill("state.backend.type: rocksdb")
    page.get_by_label("Allow non-restored state").check()
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Orders to revenue")
    assert fake.received == [
        {
            "programArgsList": ["--city", "New York"],
            "flinkConfiguration": {"state.backend.type": "rocksdb"},
            "jobName": "Orders to revenue (branch)",
            "parallelism": 3,
            "savepointPath": "s3://checkpoints/savepoint-a1-00050",
            "allowNonRestoredState": True,
        }
    ]


@pytest.mark.turns(7)
def test_a_program_uploaded_while_the_list_is_on_its_way_is_shown(window, fake) -> None:
    page = window().page
    held = []
    page.route("**/jars", lambda route: held.append((route, route.fetch())), times=1)
    page.goto(f"{fake.url}#/submit")
    page.locator("input[type=file]").set_input_files(
        {"name": "late_orders.py", "mimeType": "text/x-python", "buffer": b"print()"}
    )
    expect(page.get_by_text("late_orders.py is uploaded.")).to_be_visible()
    [(route, of_before)] = held
    route.fulfill(response=of_before)
    expect(page.get_by_role("radio", name="late_orders.py")).to_be_checked()


@pytest.mark.turns(7)
def test_a_failure_shows_the_users_own_line_first(window, fake) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{job_named(fake, 'Fraud alerts').id}")
    expect(page.locator(".notice.bad")).to_contain_text("KeyError: 'XK'")
    page.get_by_role("link", name="See the traceback").click()
    frames = page.get_by_label("Frames of your code, innermost first").first.get_by_role("listitem")
    expect(frames).to_have_count(2)
    expect(frames.first).to_contain_text("fraud_rules.py, line 23")
    expect(frames.first).to_contain_text("return LIMITS[payment.country] / payment.amount")


@pytest.mark.turns(7)
def test_log_begins_at_its_end_and_goes_back(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}/log")
    log = page.get_by_label("Lines of the log")
    expect(log).to_contain_text("epoch: 191203")
    expect(log).not_to_contain_text("13:00:00,104")
    page.get_by_role("button", name="Show earlier lines").click()
    expect(log).to_contain_text("13:00:00,104")
    page.get_by_label("Show only lines with this text").fill("error")
    expect(log.locator("div")).to_have_count(5)


@pytest.mark.turns(7)
def test_by_keys_alone(window, fake, orders) -> None:
    page = window(reduced_motion="reduce").page
    page.goto(fake.url)
    expect(page.get_by_role("link", name="Orders to revenue")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    press_until(page, page.get_by_role("link", name="Orders to revenue"))
    page.keyboard.press("Enter")
    operator = page.locator(".operator.slow")
    expect(operator).to_be_visible()
    press_until(page, operator)
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary").get_by_role("heading", level=3)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(operator).to_be_focused()
    page.get_by_role("button", name="Rescale").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Rescale")).to_be_focused()


@pytest.mark.turns(7)
def test_arrow_keys_move_between_the_stages(window, fake, orders) -> None:
    """Tab leads to one of them: a graph may have a hundred."""
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    expect(page.locator(".operator")).to_have_count(len(orders.operators))
    expect(page.locator(".operator[tabindex='0']")).to_have_count(1)
    stop = page.locator(".operator.slow")
    expect(stop).to_have_attribute("tabindex", "0")
    stop.focus()
    page.keyboard.press("ArrowLeft")
    before = page.locator(".operator", has_text="Convert currencies")
    expect(before).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(stop).to_be_focused()
    page.keyboard.press("End")
    last = page.locator(".operator", has_text="Sink: late orders")
    expect(last).to_be_focused()
    expect(last).to_have_attribute("tabindex", "0")
    expect(page.locator(".operator[tabindex='0']")).to_have_count(1)
    page.keyboard.press("Enter")
    heading = page.get_by_role("complementary").get_by_role("heading", level=3)
    expect(heading).to_have_text("Sink: late orders (files)")


@pytest.mark.turns(7)
def test_jobs_are_found_by_their_status(window, fake) -> None:
    page = window().page
    page.goto(fake.url)
    page.get_by_label("Find a job").fill("cancelled")
    expect(page.get_by_role("link", name="Sensor cleanup")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.turns(7)
def test_a_timeline_is_downloaded(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}/timeline")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download as JSON").click()
    assert waiting.value.suggested_filename == "Orders-to-revenue-timeline.json"
    saved = json.loads(waiting.value.path().read_text(encoding="utf-8"))
    assert saved["events"]
    expect(page).to_have_url(f"{fake.url}#/jobs/{orders.id}/timeline")


def press_until(page, wanted) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            ring = wanted.evaluate("element => getComputedStyle(element).outlineStyle")
            assert ring == "solid"
            return
    raise AssertionError("Tab does not get there")


@pytest.mark.turns(7)
def test_login_forgets_a_wrong_token(browser, guarded) -> None:
    page = browser.new_page()
    page.goto(f"{guarded.url}#/savepoints")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not accept this token")
    assert page.evaluate("sessionStorage.length") == 0
    page.get_by_label("Token").fill(OPERATE)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Savepoints")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.close()


@pytest.mark.turns(7)
def test_a_link_with_a_token_keeps_it_out_of_the_address(browser, guarded) -> None:
    page = browser.new_page()
    page.goto(f"{guarded.url}#token={READ}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    assert READ not in page.url
    page.close()


@pytest.mark.turns(7)
def test_a_token_for_reading_is_offered_nothing_that_it_may_not_do(browser, guarded) -> None:
    page = browser.new_page()
    page.goto(f"{guarded.url}#token={READ}")
    expect(page.get_by_text("Read only", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Submit a job")).to_have_count(0)
    job = job_named(guarded, "Revenue in SQL")
    page.get_by_role("link", name=job.name).click()
    expect(page.locator(".operator")).to_have_count(len(job.operators))
    expect(page.get_by_role("group", name="Control the job")).to_have_count(0)
    page.locator(".operator", has_text="GroupAggregate").click()
    expect(page.get_by_role("complementary")).to_contain_text("Subtasks")
    expect(page.get_by_role("button", name="Show records")).to_have_count(0)
    page.get_by_role("link", name="Flame graph").click()
    expect(page.get_by_text("Log in with the operate token")).to_be_visible()
    page.goto(f"{guarded.url}#/savepoints")
    expect(page.get_by_role("checkbox")).to_have_count(7)
    expect(page.get_by_role("button", name="Take a savepoint")).to_have_count(0)
    expect(page.get_by_role("link", name="Branch off")).to_have_count(0)
    page.goto(f"{guarded.url}#/submit")
    expect(page.get_by_text("This token can only read.")).to_be_visible()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_disabled()
    # another token may do more
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Token").fill(OPERATE)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("Upload a job file")).to_be_visible()
    expect(page.get_by_text("Read only", exact=True)).to_have_count(0)
    page.close()


@pytest.mark.turns(7)
def test_nothing_is_offered_before_the_server_has_told_what_a_token_may_do(
    browser, guarded
) -> None:
    page = browser.new_page()
    held = []
    is_held = True

    def answer(route) -> None:
        if is_held:
            held.append(route)  # the answer does not come
        else:
            route.continue_()

    page.route(f"{guarded.url}config", answer)
    job = job_named(guarded, "Orders to revenue")
    page.goto(f"{guarded.url}#token={OPERATE}")
    page.goto(f"{guarded.url}#/jobs/{job.id}")
    expect(page.locator(".operator")).to_have_count(len(job.operators))
    assert held
    control = page.get_by_role("group", name="Control the job")
    expect(control).to_have_count(0)
    expect(page.get_by_text("Read only", exact=True)).to_have_count(0)
    is_held = False
    for route in held:
        route.continue_()
    expect(control).to_be_visible()
    page.close()


@pytest.mark.turns(7)
def test_a_server_that_does_not_tell_what_a_token_may_do_is_asked_again(browser, guarded) -> None:
    """All other requests succeed: the page says why nothing is offered, until the answer comes."""
    page = browser.new_page()
    is_broken = True

    def answer(route) -> None:
        if is_broken:
            route.fulfill(status=500, json={"errors": ["no config"]})
        else:
            route.continue_()

    page.route(f"{guarded.url}config", answer)
    page.goto(f"{guarded.url}#token={OPERATE}")
    page.goto(f"{guarded.url}#/submit")
    told = page.get_by_text("The server does not tell what you may do here: no config")
    expect(told).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    is_broken = False
    expect(page.get_by_text("Upload a job file")).to_be_visible(timeout=30_000)
    expect(told).to_have_count(0)
    page.close()


@pytest.mark.turns(7)
def test_a_token_that_is_withdrawn_asks_for_another_and_goes_on_there(browser, guarded) -> None:
    page = browser.new_page()
    page.goto(f"{guarded.url}#token={OPERATE}")
    job = job_named(guarded, "Orders to revenue")
    page.goto(f"{guarded.url}#/jobs/{job.id}/checkpoints")
    expect(page.get_by_text("191093").first).to_be_visible()
    guarded.withdrawn = True
    expect(page.get_by_text("The server does not accept the token of this tab.")).to_be_visible()
    guarded.withdrawn = False
    page.get_by_label("Token").fill(OPERATE)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("191093").first).to_be_visible()
    page.close()


@pytest.mark.turns(7)
def test_a_job_that_the_server_forgets_is_told_of(browser, fake, orders) -> None:
    page = browser.new_page()
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    expect(page.locator(".operator")).to_have_count(len(orders.operators))
    del fake.jobs.jobs[orders.id]
    expect(page.get_by_text("The server no longer knows this job.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text(orders.name)
    page.goto(f"{fake.url}#/jobs/{'0' * 32}/log")
    expect(page.get_by_text("The server knows no job with this id")).to_be_visible()
    page.get_by_role("link", name="See the jobs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    page.close()


@pytest.mark.turns(7)
def test_a_server_that_goes_away_is_told_of_and_found_again(browser, fake, orders) -> None:
    page = browser.new_page()
    page.goto(f"{fake.url}#/jobs/{orders.id}/configuration")
    expect(page.get_by_text("execution.checkpointing.dir")).to_be_visible()
    page.route("**/jobs/**", lambda route: route.abort())
    away = page.get_by_text("The server does not answer.")
    expect(away).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Orders to revenue")
    page.unroute("**/jobs/**")
    expect(away).to_have_count(0)
    page.close()


@pytest.mark.turns(7)
def test_a_hidden_page_asks_nothing(browser, fake) -> None:
    page = browser.new_page()
    page.clock.install()
    page.goto(fake.url)
    expect(page.get_by_role("link", name="Orders to revenue")).to_be_visible()
    hide = """hidden => {
        Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    page.clock.run_for(10_000)
    asked = len(fake.requests)
    page.clock.run_for(60_000)
    assert len(fake.requests) == asked
    with page.expect_response("**/jobs/overview"):
        page.evaluate(hide, False)
    page.close()


@pytest.mark.turns(7)
def test_any_metric_becomes_a_chart(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}/metrics")
    expect(page.get_by_role("row").filter(has_text="lastCheckpointSize")).to_contain_text("305 KiB")
    page.get_by_label("Scope of the metrics").select_option(label="Parse and check")
    page.get_by_label("Subtask").select_option(label="Subtask 2")
    page.get_by_role("button", name="Chart of numRecordsOutPerSecond").click()
    chart = page.locator(".metric-chart")
    expect(chart.get_by_role("img", name="numRecordsOutPerSecond")).to_be_visible()
    expect(chart).to_contain_text("642/s")
    expect(chart).to_contain_text("Parse and check, subtask 2")
    assert any("/subtasks/2/metrics" in request for request in fake.requests)
    chart.get_by_role("button", name="Remove the chart").click()
    expect(chart).to_have_count(0)


@pytest.mark.turns(7)
def test_the_life_of_a_job_stands_on_a_line(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}/timeline")
    line = page.get_by_role("img", name="Runs: 3, Checkpoints: 20, Savepoints: 1, Rescalings: 1")
    expect(line).to_be_visible()
    expect(line.locator(".mark.failure")).to_have_attribute("title", "Exception: signal 9")
    page.get_by_role("button", name="10 m").click()
    expect(page.get_by_role("img", name="Runs: 1, Checkpoints: 20, Savepoints: 0")).to_be_visible()


@pytest.mark.turns(7)
def test_an_ended_job_starts_again_from_its_last_checkpoint(window, fake) -> None:
    failed = job_named(fake, "Fraud alerts")
    page = window().page
    page.goto(f"{fake.url}#/jobs/{failed.id}")
    page.get_by_role("button", name="Start from last checkpoint").click()
    page.get_by_role("dialog").get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Orders to revenue")
    assert fake.received == [{"start": "checkpoint"}]


@pytest.mark.turns(7)
def test_two_runs_are_compared(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    page.get_by_role("link", name="Compare with another run").click()
    failed = job_named(fake, "Fraud alerts")
    page.get_by_label("Second run").select_option(value=failed.id)
    figures = page.get_by_role("table", name="Figures of both runs")
    expect(figures.get_by_role("row").filter(has_text="Status")).to_have_text("StatusRunningFailed")
    stages = page.get_by_role("table", name="Stages of both runs").get_by_role("row")
    expect(stages.filter(has_text="Parse and check")).to_contain_text("66,312,000")
    expect(stages.filter(has_text="Score payments")).to_contain_text("2,952,000")


@pytest.mark.turns(7)
def test_a_call_of_a_flame_graph_is_enlarged(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{orders.id}/flame")
    call = page.get_by_role("button", name="score (/srv/jobs/fraud_alerts.py:57)")
    expect(call).to_have_class("flame own")
    narrow = call.bounding_box()
    call.click()
    expect(page.get_by_text("74 %")).to_be_visible()
    wide = call.bounding_box()
    assert narrow is not None
    assert wide is not None
    assert wide["width"] > narrow["width"] * 1.2
    call.press("ArrowUp")
    caller = page.locator(".flame:focus")
    expect(caller).not_to_have_text(call.inner_text())
    expect(page.locator(".flame[tabindex='0']")).to_have_count(1)
    caller.press("ArrowDown")
    expect(call).to_be_focused()
    page.get_by_role("button", name="Waiting").click()
    expect(page.get_by_text("No subtask of the stage was running in 250 samples")).to_be_visible()


@pytest.mark.turns(7)
def test_records_of_an_operator_are_watched_where_the_job_allows_it(window, fake, orders) -> None:
    page = window().page
    page.goto(f"{fake.url}#/jobs/{job_named(fake, 'Revenue in SQL').id}")
    page.locator(".operator", has_text="GroupAggregate").click()
    page.get_by_role("button", name="Show records as they are emitted").click()
    expect(page.get_by_label("Newest records").get_by_role("listitem")).to_have_count(12)
    expect(page.get_by_label("Newest records")).to_contain_text("Row(3, 'kettle')")
    page.goto(f"{fake.url}#/jobs/{orders.id}")
    page.locator(".operator", has_text="Convert currencies").click()
    page.get_by_role("button", name="Show records as they are emitted").click()
    expect(page.get_by_text("millrace.preview.enabled=true")).to_be_visible()
