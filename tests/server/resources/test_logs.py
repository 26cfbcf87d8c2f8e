"""Logs in parts."""

from __future__ import annotations

from gallery import NEW, RUNNING

from millrace.server.log_part import log_part


def test_a_log_is_followed(tmp_path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"one\n")
    first = log_part(path, 0)
    assert (first.text, first.next, first.size) == ("one\n", 4, 4)
    with path.open("ab") as file:
        file.write(b"two\n")
    assert log_part(path, first.next).text == "two\n"
    assert log_part(path, -3).text == "wo\n"
    assert log_part(path, -100).offset == 0


def test_a_log_that_was_begun_anew(tmp_path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"new")
    assert log_part(path, 900).text == "new"
    assert log_part(tmp_path / "none", 3).size == 0


def test_characters_are_not_torn(tmp_path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes("aé€😀b".encode())
    texts, at = [], 0
    while at < path.stat().st_size:
        part = log_part(path, at, 5)
        texts.append(part.text)
        at = part.next
    assert "".join(texts) == "aé€😀b"


def test_a_log_that_ends_within_a_character_is_shown_to_its_end(tmp_path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes("end €".encode()[:-1])
    first = log_part(path, 0)
    assert (first.text, first.next) == ("end ", 4)
    last = log_part(path, first.next)
    assert (last.text, last.next) == ("\N{REPLACEMENT CHARACTER}", last.size)


def test_over_http(api, job_server) -> None:
    part = api.get(f"/jobs/{RUNNING}/log?offset=-12").json()
    assert (part["text"], part["next"]) == ("second line\n", 23)
    assert api.get(f"/jobs/{RUNNING}/log?offset=0&limit=5").json()["text"] == "first"
    assert api.get(f"/jobs/{RUNNING}/log?limit=0").status_code == 400
    assert api.get(f"/jobs/{NEW}/log").json()["text"] == ""
    assert api.get("/jobmanager/logs").json() == {"logs": []}
    job_server.settings.log.write_text("started\n")
    assert api.get("/jobmanager/logs").json()["logs"][0]["name"] == "server.log"
    assert api.get("/jobmanager/logs/server.log").text == "started\n"
    assert api.get("/jobmanager/logs/..%2Foperate.token").status_code == 404
    assert api.get("/jobmanager/log").text == "started\n"
