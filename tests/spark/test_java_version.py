"""Finding Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.spark.java_version import Java, find_java


def test_the_java_of_java_home_goes_first(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    found = find_java({"JAVA_HOME": str(tmp_path)})
    assert found == Java(str(java), 11)
    assert "is Java 11. Set JAVA_HOME to a newer one" in str(found.problem())


def test_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "none was found; install it" in str(find_java({}).problem())


@pytest.mark.parametrize("executable", [None, False, True])
def test_a_java_home_without_a_java_is_named(tmp_path: Path, executable: bool | None) -> None:
    """Also where a java is on the path: Spark's scripts do not look there."""
    if executable is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text("no program")
        (tmp_path / "bin" / "java").chmod(0o755 if executable else 0o644)
    problem = str(find_java({"JAVA_HOME": str(tmp_path)}).problem())
    assert problem.startswith(f"JAVA_HOME is '{tmp_path}', but {tmp_path}/bin/java is not")
    assert "or unset it" in problem


def test_one_that_spark_can_use() -> None:
    assert Java("/usr/bin/java", 21).problem() is None
    assert Java("/usr/bin/java", None).problem() is None
