"""Settings with their origins, and without secrets."""

from __future__ import annotations

from pathlib import Path

import gallery
from starlette.testclient import TestClient

from millrace.common.config.configuration import Configuration
from millrace.common.config.setting_origin import SettingOrigin
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application


def test_settings_of_a_job_and_built_in_ones(api: TestClient) -> None:
    answer = api.get(f"/jobs/{gallery.RUNNING}/config").json()
    entries = {entry["key"]: entry for entry in answer["entries"]}
    assert list(entries) == sorted(entries)
    # written by an earlier version
    for key, value in answer["execution-config"]["user-config"].items():
        assert entries[key] == {"key": key, "value": value, "origin": ""}
    assert entries["pipeline.max-parallelism"] == {
        "key": "pipeline.max-parallelism",
        "value": "128",
        "origin": "default",
    }
    assert "jobstore.max-capacity" not in entries


def test_settings_of_the_server(tmp_path: Path) -> None:
    own = Configuration(
        {
            "jobstore.max-capacity": "10",
            "millrace.alerts.webhook.ops.url": "https://chat/T0/secret",
            "millrace.server.directory": "/srv/m",
        }
    ).marked(SettingOrigin.FILE)
    own.add_all(Configuration({"web.submit.enable": True}).marked(SettingOrigin.COMMAND_LINE))
    jobs = {"parallelism.default": "4", "user.database": "postgresql://ada:pw@host/db"}
    server = gallery.server_of(
        tmp_path,
        configuration=own,
        job_defaults=Configuration(jobs).marked(SettingOrigin.FILE),
        config_file=tmp_path / "config.yaml",
        allow_uploads=True,
    )
    api = TestClient(create_application(server, AccessTokens()), base_url=gallery.LOCAL)
    answer = {entry["key"]: entry for entry in api.get("/jobmanager/config").json()}
    server.registry.close()
    assert answer["server.config-file"]["value"] == str(tmp_path / "config.yaml")
    shown = {key: (entry["value"], entry["origin"]) for key, entry in answer.items()}
    assert shown["jobstore.max-capacity"] == ("10", "config.yaml")
    assert shown["web.submit.enable"] == ("true", "command-line")
    assert shown["parallelism.default"] == ("4", "config.yaml")
    assert shown["millrace.alerts.webhook.ops.url"] == ("******", "config.yaml")
    assert shown["user.database"] == ("postgresql://ada:******@host/db", "config.yaml")
    assert shown["server.directory"] == (str(tmp_path), "config.yaml")
