"""Records that an operator has emitted, as the server tells them."""

from __future__ import annotations

import msgspec
from gallery import NOW, RUNNING, archive
from starlette.testclient import TestClient

from millrace.engine.archived_job import ARCHIVE
from millrace.runtime.previews import PreviewedRecord, WorkerPreview, preview_request
from millrace.runtime.watchdog import REPORTS
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application
from millrace.server.observed_job import vertex_id

COUNT = f"/jobs/{RUNNING}/vertices/{vertex_id('count')}/preview"
READER = {"Authorization": "Bearer " + "r" * 20}


def allow(job_server) -> None:
    """Let the running job have the option."""
    settings = {"millrace.preview.enabled": "true"}
    place = job_server.settings.jobs / RUNNING / "clicks-00000000" / ARCHIVE
    place.write_bytes(msgspec.structs.replace(archive(), settings=settings).encoded())


def test_previews_are_off_unless_the_job_allows_them(api, job_server) -> None:
    answer = api.get(f"{COUNT}?operator=count").json()
    assert answer == {"enabled": False, "operator": "count", "records": []}
    assert not (job_server.settings.jobs / RUNNING / "clicks-00000000" / REPORTS).exists()


def test_newest_records_come_first(api, job_server) -> None:
    allow(job_server)
    assert api.get(f"{COUNT}?operator=count").json()["records"] == []
    reports = job_server.settings.jobs / RUNNING / "clicks-00000000" / REPORTS
    request = preview_request(str(reports))
    assert request is not None
    assert (request.run_id, request.until) == ("r1", {"count": NOW / 1_000 + 15})
    for worker, time in (("a", 1.0), ("b", 2.0)):
        told = WorkerPreview({"count": (PreviewedRecord(time, 0, worker),)})
        (reports / f"{worker}.preview").write_bytes(msgspec.json.encode(told))
    other = WorkerPreview({"sink": (PreviewedRecord(3.0, 0, "c"),)})
    (reports / "c.preview").write_bytes(msgspec.json.encode(other))
    answer = api.get(f"{COUNT}?operator=count").json()
    assert answer["records"] == [
        {"time": 2_000, "subtask": 0, "text": "b"},
        {"time": 1_000, "subtask": 0, "text": "a"},
    ]
    assert api.get(f"{COUNT}?operator=gone").status_code == 404


def test_the_last_record_of_a_batch_is_the_newest(api, job_server) -> None:
    allow(job_server)
    api.get(f"{COUNT}?operator=count")
    reports = job_server.settings.jobs / RUNNING / "clicks-00000000" / REPORTS
    told = WorkerPreview({"count": tuple(PreviewedRecord(1.0, 0, text) for text in ("-U", "+U"))})
    (reports / "a.preview").write_bytes(msgspec.json.encode(told))
    records = api.get(f"{COUNT}?operator=count").json()["records"]
    assert [record["text"] for record in records] == ["+U", "-U"]


def test_two_watchers_of_one_job_do_not_disturb_each_other(api, job_server) -> None:
    allow(job_server)
    reports = job_server.settings.jobs / RUNNING / "clicks-00000000" / REPORTS
    vertices = api.get(f"/jobs/{RUNNING}").json()["vertices"]
    paths = [f"/jobs/{RUNNING}/vertices/{vertex['id']}/preview" for vertex in vertices[:2]]
    operators = [api.get(path).json()["operator"] for path in (*paths, paths[0])]
    request = preview_request(str(reports))
    assert request is not None
    assert len(request.until) == 2
    assert set(request.until) == set(operators)


def test_who_may_only_read_sees_neither_records_nor_stacks(job_server) -> None:
    allow(job_server)
    guarded = TestClient(create_application(job_server, AccessTokens("r" * 20, "o" * 20)))
    for path in (COUNT, COUNT.replace("preview", "flamegraph")):
        assert guarded.get(path, headers=READER).status_code == 403
        assert guarded.get(path).status_code == 401
    assert guarded.get("/config", headers=READER).json()["role"] == "read"
