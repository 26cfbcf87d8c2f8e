"""Where the jars of a Kafka for trying out come from."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from millrace.cli.trial import kafka_jars
from millrace.cli.trial.kafka_jars import TrialError, download, downloaded_jars, installed_jars

JARS = {"org/a/1/a-1.jar": b"first", "org/b/2/b-2.jar": b"second"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror with two jars, which are all that is listed."""
    lines = ["# path, checksum, bytes"]
    for path, content in JARS.items():
        jar = tmp_path / "mirror" / path
        jar.parent.mkdir(parents=True)
        jar.write_bytes(content)
        lines.append(f"{path} {hashlib.sha256(content).hexdigest()} {len(content)}")
    (tmp_path / "list.txt").write_text("\n".join(lines))
    monkeypatch.setattr(kafka_jars, "_LIST", tmp_path / "list.txt")
    return tmp_path / "mirror"


@pytest.fixture
def environment(tmp_path: Path, repository: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "MILLRACE_MAVEN_REPOSITORY": repository.as_uri()}


def test_jars_are_downloaded_with_their_progress(environment: dict[str, str]) -> None:
    steps: list[tuple[int, int]] = []
    jars = downloaded_jars(environment)
    download(jars, lambda ready, total: steps.append((ready, total)), environment)
    assert {path.name: path.read_bytes() for path in jars.directory.iterdir()} == {
        "a-1.jar": b"first",
        "b-2.jar": b"second",
    }
    assert steps == [(5, 11), (11, 11)]


def test_jars_that_are_there_are_not_fetched_again(
    environment: dict[str, str], repository: Path
) -> None:
    jars = downloaded_jars(environment)
    download(jars, lambda *_: None, environment)
    (jars.directory / "b-2.jar").write_bytes(b"broken")
    (repository / "org/a/1/a-1.jar").unlink()
    download(jars, lambda *_: None, environment)
    assert (jars.directory / "b-2.jar").read_bytes() == b"second"


def test_a_jar_of_the_own_maven_repository_is_copied(
    environment: dict[str, str], repository: Path, tmp_path: Path
) -> None:
    (tmp_path / ".m2").mkdir()
    repository.rename(tmp_path / ".m2" / "repository")
    jars = downloaded_jars(environment)
    download(jars, lambda *_: None, environment)
    assert (jars.directory / "a-1.jar").read_bytes() == b"first"


def test_another_file_is_not_kept(environment: dict[str, str], repository: Path) -> None:
    (repository / "org/a/1/a-1.jar").write_bytes(b"FIRST")
    jars = downloaded_jars(environment)
    with pytest.raises(TrialError, match="a-1.jar has the SHA-256 .* it is another file"):
        download(jars, lambda *_: None, environment)
    assert not (jars.directory / "a-1.jar").exists()


def test_an_error_of_the_network_says_what_to_do(
    environment: dict[str, str], repository: Path
) -> None:
    (repository / "org/a/1/a-1.jar").unlink()
    with pytest.raises(TrialError, match="cannot be downloaded: .*MILLRACE_MAVEN_REPOSITORY"):
        download(downloaded_jars(environment), lambda *_: None, environment)


@pytest.mark.parametrize("address", ["repo.example.com/maven2", "http://host:port/maven2"])
def test_a_wrong_address_of_the_mirror_is_named(environment: dict[str, str], address: str) -> None:
    environment["MILLRACE_MAVEN_REPOSITORY"] = address
    with pytest.raises(TrialError, match="Set MILLRACE_MAVEN_REPOSITORY to a mirror"):
        download(downloaded_jars(environment), lambda ready, total: None, environment)


def test_an_installed_kafka_is_found(tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka_2.13-4.0.0.jar").touch()
    script = tmp_path / "bin" / "kafka-server-start.sh"
    script.parent.mkdir()
    script.touch(mode=0o755)
    by_home = installed_jars({"KAFKA_HOME": str(tmp_path)})
    by_path = installed_jars({"PATH": str(script.parent)})
    assert by_home is not None
    assert by_path is not None
    assert by_home.directory == by_path.directory == tmp_path / "libs"
    assert by_path.origin == str(script)
    assert installed_jars({"PATH": str(tmp_path)}) is None


def test_a_home_without_kafka_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="has no jar of Kafka's broker"):
        installed_jars({"KAFKA_HOME": str(tmp_path)})


def test_each_jar_is_listed_with_its_checksum() -> None:
    listed = list(kafka_jars._listed())
    assert any(jar.name == f"kafka_2.13-{kafka_jars.VERSION}.jar" for jar in listed)
    assert all(len(jar.sha256) == 64 and jar.path.endswith(".jar") for jar in listed)
    assert round(sum(jar.size for jar in listed) / 1e6) == 44
