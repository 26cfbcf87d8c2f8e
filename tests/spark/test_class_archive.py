"""Which options the driver's JVM gets for its class archive."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.spark.class_archive import OWN_OPTIONS, SWITCH, archive_options, with_archive


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An empty cache, and something that passes for a Java."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    return {"JAVA_HOME": str(tmp_path / "jdk"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_the_first_jvm_writes_the_archive_and_later_ones_use_it(environment) -> None:
    first = archive_options(environment)
    option, _, rest = first.partition("=")
    archive = Path(rest.split()[0])
    assert option == "-XX:ArchiveClassesAtExit"
    assert archive.parent.stat().st_mode & 0o077 == 0
    archive.touch()
    assert archive_options(environment).startswith(f"-XX:SharedArchiveFile={archive} ")


def test_a_directory_can_be_named(environment, tmp_path: Path) -> None:
    named = tmp_path / "deep" / "named"
    assert f"={named}/spark-" in archive_options({**environment, SWITCH: str(named)})
    assert named.stat().st_mode & 0o077 == 0


def test_another_java_has_another_archive(environment, tmp_path: Path) -> None:
    before = archive_options(environment)
    (tmp_path / "jdk" / "bin" / "java").touch()
    other = tmp_path / "other" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.touch()
    assert archive_options({**environment, "JAVA_HOME": str(tmp_path / "other")}) != before


def test_without_java_or_switched_off_there_are_no_options(environment, tmp_path: Path) -> None:
    assert archive_options({**environment, SWITCH: "off"}) == ""
    assert archive_options({**environment, "JAVA_HOME": str(tmp_path / "none")}) == ""


def test_a_directory_that_others_can_write_is_not_trusted(environment, tmp_path: Path) -> None:
    archive_options(environment)
    (tmp_path / "cache" / "millrace").chmod(0o777)
    assert archive_options(environment) == ""


def test_options_are_split_at_blanks_so_no_path_may_have_one(environment, tmp_path: Path) -> None:
    blank = str(tmp_path / "my cache")
    assert archive_options({**environment, "XDG_CACHE_HOME": blank}) == ""


def test_the_users_own_options_stay(environment, monkeypatch) -> None:
    for name, value in {**environment, SWITCH: "on"}.items():
        monkeypatch.setenv(name, value)
    settings = with_archive({OWN_OPTIONS: "-Dmine=1", "spark.app.name": "x"})
    assert settings["spark.app.name"] == "x"
    assert settings[OWN_OPTIONS].startswith("-XX:ArchiveClassesAtExit=")
    assert settings[OWN_OPTIONS].endswith(" -Dmine=1")
    monkeypatch.setenv(SWITCH, "off")
    assert with_archive({"spark.app.name": "x"}) == {"spark.app.name": "x"}


def test_without_a_home_directory_there_are_no_options(environment, monkeypatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("no home directory")

    monkeypatch.setattr(Path, "home", nowhere)
    assert archive_options({**environment, "XDG_CACHE_HOME": "relative"}) == ""
