"""The file with the settings of all jobs and of the server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.common.config import options
from millrace.common.config.config_file import (
    ConfigFile,
    find_config_file,
    read_config_file,
    settings_for,
)
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.errors import ConfigurationError
from millrace.server.server_options import job_settings_in, server_settings_in


def read(directory: Path, text: str) -> ConfigFile:
    path = directory / "config.yaml"
    path.write_text(text)
    return read_config_file(path)


def test_keys_are_nested_dotted_or_both(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        """\
parallelism.default: 4
execution:
  checkpointing:
    interval: 10 s
    num-retained: 3
restart-strategy:
  type: fixed-delay
  fixed-delay.attempts: 5
metrics.reporters: [prom, otel]
pipeline.global-job-parameters:
  team: shop
spark.executor.memory: 2g
state.backend:
""",
    )
    assert file.values == {
        "parallelism.default": "4",
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.num-retained": "3",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "5",
        "metrics.reporters": ["prom", "otel"],
        "pipeline.global-job-parameters": {"team": "shop"},
        "spark.executor.memory": "2g",
    }
    jobs = job_settings_in(file)
    assert jobs.get(options.PARALLELISM) == 4
    assert jobs.get(options.GLOBAL_JOB_PARAMETERS) == {"team": "shop"}
    assert jobs.origin("spark.executor.memory") is SettingOrigin.FILE


def test_values_stay_the_text_in_the_file(tmp_path: Path) -> None:
    """YAML of version 1.1 would read 22:30 as a number, and off as false."""
    file = read(tmp_path, "user.at: 22:30\nuser.switch: off\nuser.version: 1.10\n")
    assert file.values == {"user.at": "22:30", "user.switch": "off", "user.version": "1.10"}


def test_the_server_has_its_own_part(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        "rest.port: 8082\njobstore.max-capacity: 10\nparallelism.default: 2\n"
        "millrace.alerts: {lag: 1 min, webhook.ops.url: http://localhost/}\n",
    )
    assert server_settings_in(file).to_dict() == {
        "rest.port": "8082",
        "jobstore.max-capacity": "10",
        "millrace.alerts.webhook.ops.url": "http://localhost/",
    }
    assert job_settings_in(file).to_dict() == {
        "parallelism.default": "2",
        "millrace.alerts.lag": "1 min",
    }


def test_options_of_tables_are_known_without_the_table_room(tmp_path: Path) -> None:
    """A key is known whatever this process has imported."""
    (tmp_path / "config.yaml").write_text("table.exec.state.ttl: 1 d\n")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from millrace.common.config.config_file import read_config_file\n"
        "print(read_config_file(Path(sys.argv[1])).values, 'millrace.table' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "config.yaml")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "{'table.exec.state.ttl': '1 d'} False"


def test_keys_of_flink_without_effect_are_told_apart(tmp_path: Path) -> None:
    file = read(tmp_path, "jobmanager.memory.process.size: 1g\ntaskmanager.numberOfTaskSlots: 2\n")
    assert file.values == {}
    assert file.ignored == ("jobmanager.memory.process.size", "taskmanager.numberOfTaskSlots")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: 1\n",
            "line 1: unknown configuration key 'a'; see the list in docs/configuration.md",
        ),
        (
            "pipeline.name: x\nparallelism:\n  defualt: 2\n",
            "line 3: unknown configuration key 'parallelism.defualt'; "
            "did you mean 'parallelism.default'?",
        ),
        (
            "web.submit.enabled: true\n",
            "line 1: unknown configuration key 'web.submit.enabled'; "
            "did you mean 'web.submit.enable'?",
        ),
        (
            "\nparallelism.default: two\n",
            "line 2: parallelism.default must be a number, got 'two'",
        ),
        (
            "state.backend: rocksdb\nstate.backend.type: hashmap\n",
            "line 2: state.backend.type has a value already, in line 1",
        ),
        ("- parallelism.default\n", "must have keys and values"),
        ("parallelism.default: [1\n", "is not YAML"),
        ("pipeline: &p\n  name: *p\n", "nested too deeply"),
        ("pipeline: &a {name: x}\n<<: *a\n", "line 2: YAML's merge key '<<' is not supported"),
        ("metrics.reporters: [[a]]\n", "line 1: an item is a text or a number"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        read(tmp_path, text)


def test_an_empty_file_sets_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "# nothing\n").values == {}


def test_where_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_config_file(None, {}) is None
    beside = tmp_path / "conf" / "config.yaml"
    beside.parent.mkdir()
    beside.touch()
    assert find_config_file(None, {}) == beside
    elsewhere = tmp_path / "etc" / "config.yaml"
    elsewhere.parent.mkdir()
    elsewhere.touch()
    variable = {"MILLRACE_CONF_DIR": str(elsewhere.parent)}
    assert find_config_file(None, variable) == elsewhere
    named = tmp_path / "other.yaml"
    named.touch()
    assert find_config_file(named, variable) == named
    assert find_config_file(beside.parent, variable) == beside


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--config: there is no file .*missing.yaml"):
        find_config_file(tmp_path / "missing.yaml", {})
    with pytest.raises(ConfigurationError, match="MILLRACE_CONF_DIR: there is no file"):
        find_config_file(None, {"MILLRACE_CONF_DIR": str(tmp_path)})


def test_a_file_of_another_program_can_be_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    path = tmp_path / "conf" / "config.yaml"
    path.write_text("defaults:\n  - db: mysql\n")
    with pytest.raises(ConfigurationError, match="set MILLRACE_CONF_DIR to an empty value"):
        settings_for(None, {})
    assert settings_for(None, {"MILLRACE_CONF_DIR": ""}) == ConfigFile()
    with pytest.raises(ConfigurationError) as named:
        settings_for(path, {})
    assert "MILLRACE_CONF_DIR" not in str(named.value)


def test_a_file_that_is_nested_too_deeply(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nested too deeply"):
        read(tmp_path, f"parallelism.default: {'[' * 3_000}{']' * 3_000}")
