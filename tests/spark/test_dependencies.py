"""What a job brings along reaches the workers, and what is missing is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.common import Configuration
from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark import worker_environment
from millrace.spark.dependencies import Dependencies
from millrace.spark.worker_environment import VARIABLE, WorkerEnvironment

Env = StreamExecutionEnvironment


@pytest.fixture
def env() -> Env:
    return StreamExecutionEnvironment.get_execution_environment()


def mapped(env: Env, function: Any) -> list[Any]:
    """What the function makes of 1 in a worker."""
    return list(env.from_collection([1]).map(function).execute_and_collect())


def wheel(directory: Path, name: str, source: str) -> Path:
    """A package as pip installs it."""
    path = directory / f"{name}-0.1-py3-none-any.whl"
    described = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(f"{name}/__init__.py", source)
        out.writestr(f"{name}-0.1.dist-info/METADATA", described)
        out.writestr(f"{name}-0.1.dist-info/WHEEL", kind)
        out.writestr(f"{name}-0.1.dist-info/RECORD", "")
    return path


@pytest.mark.turns(7)
@pytest.mark.spark
def test_python_files_of_every_kind(spark: Any, env: Env, tmp_path: Path) -> None:
    """A module, a directory with a package, a zip and a wheel, which this process cannot import."""
    (tmp_path / "shipped_module.py").write_text("VALUE = 1\n")
    package = tmp_path / "sources" / "shipped_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("VALUE = 10\n")
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as out:
        out.writestr("shipped_zip.py", "VALUE = 100\n")
    for name in ("shipped_module.py", "sources", "zipped.zip"):
        env.add_python_file(str(tmp_path / name))
    env.add_python_file(str(wheel(tmp_path, "shipped_wheel", "VALUE = 1000\n")))

    def add(value: int) -> int:
        import shipped_module  # type: ignore[import-not-found]
        import shipped_package  # type: ignore[import-not-found]
        import shipped_wheel  # type: ignore[import-not-found]
        import shipped_zip  # type: ignore[import-not-found]

        modules = (shipped_module, shipped_package, shipped_zip, shipped_wheel)
        return value + sum(module.VALUE for module in modules)

    assert mapped(env, add) == [1112]


@pytest.mark.turns(7)
@pytest.mark.spark
def test_an_archive_is_in_the_working_directory(spark: Any, env: Env, tmp_path: Path) -> None:
    """Under the name that it was given, or under its own; other jobs have other workers."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data.txt").write_text("41")
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path / "in")
    shutil.copy(archive, tmp_path / "own-name.zip")
    env.add_python_archive(archive, "data")
    env.add_python_archive(str(tmp_path / "own-name.zip"))

    def add(value: int) -> tuple[int, str]:
        own = Path("own-name.zip/data.txt").read_text()
        return value + int(Path("data/data.txt").read_text()), own

    assert mapped(env, add) == [(42, "41")]
    (tmp_path / "in" / "data.txt").write_text("7")
    shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path / "in")
    assert mapped(env, add) == [(8, "41")], "as in a notebook, where it was made anew"
    before = StreamExecutionEnvironment.get_execution_environment()
    assert mapped(before, lambda _: str(Path.cwd())) == [str(Path.cwd())]


@pytest.mark.turns(7)
@pytest.mark.spark
def test_packages_of_a_requirements_file(spark: Any, env: Env, tmp_path: Path) -> None:
    """From a directory of packages, without a network; twice, installed once."""
    wheel(tmp_path, "shipped_requirement", "VALUE = 4\n")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("shipped_requirement==0.1\n")

    def imported(value: int) -> int:
        import shipped_requirement  # type: ignore[import-not-found]

        return value + int(shipped_requirement.VALUE)

    env.set_python_requirements(str(requirements), str(tmp_path))
    assert mapped(env, imported) == [5]
    (tmp_path / "shipped_requirement-0.1-py3-none-any.whl").unlink()
    assert mapped(env, imported) == [5]


@pytest.mark.turns(7)
@pytest.mark.spark
def test_packages_that_cannot_be_installed(spark: Any, env: Env, tmp_path: Path) -> None:
    """pip's own words are in the error."""
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("shipped_nowhere==0.1\n")
    env.set_python_requirements(str(requirements), str(tmp_path))
    with pytest.raises(ConfigurationError, match="No matching distribution found for shipped_nowh"):
        mapped(env, str)


@pytest.mark.turns(7)
@pytest.mark.spark
def test_the_interpreter_of_the_workers(spark: Any, env: Env, tmp_path: Path) -> None:
    """One in an archive that the job brings along."""
    binary = tmp_path / "environment" / "bin" / "python"
    binary.parent.mkdir(parents=True)
    binary.write_text(f'#!/bin/sh\nexport CHOSEN=yes\nexec "{sys.executable}" "$@"\n')
    binary.chmod(0o755)
    archive = shutil.make_archive(str(tmp_path / "tools"), "gztar", tmp_path / "environment")
    env.add_python_archive(archive, "tools")
    env.set_python_executable("tools/bin/python")

    def chosen(_: int) -> str | None:
        import os

        return os.environ.get("CHOSEN")

    assert mapped(env, chosen) == ["yes"]
    other = StreamExecutionEnvironment.get_execution_environment()
    assert mapped(other, chosen) == [None]


@pytest.mark.turns(7)
@pytest.mark.spark
def test_jars_are_refused_once_spark_runs(spark: Any, env: Env, tmp_path: Path) -> None:
    """The error says where they belong."""
    jar = tmp_path / "late.jar"
    jar.write_bytes(b"")
    env.add_jars(f"file://{jar}")
    with pytest.raises(ConfigurationError, match=r"late.jar is not among the jars .* before the"):
        mapped(env, str)


JARS = """
import sys
from millrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.add_jars("file://" + sys.argv[1])
env.add_classpaths(sys.argv[2])
env.from_collection([1]).print()
env.execute()
from pyspark import SparkContext

context = SparkContext._active_spark_context
loader = context._jvm.Thread.currentThread().getContextClassLoader()
print([loader.getResource(name) is not None for name in ("in-jar", "in-path", "nowhere")])
print(context._jsc.sc().listJars().mkString().count(".jar"))
"""


@pytest.mark.turns(7)
@pytest.mark.spark
def test_spark_is_started_with_the_jars(tmp_path: Path) -> None:
    """The driver's class loader has them, and executors are told of those that are shipped."""
    for name in ("in-jar", "in-path"):
        with zipfile.ZipFile(tmp_path / f"{name}.jar", "w") as out:
            out.writestr(name, "")
    paths = [str(tmp_path / "in-jar.jar"), str(tmp_path / "in-path.jar")]
    done = subprocess.run(
        [sys.executable, "-c", JARS, *paths], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["1", "[True, True, False]", "1"]


@pytest.mark.turns(7)
@pytest.mark.parametrize("key", ["python.files", "python.archives", "python.requirements"])
def test_what_is_missing_is_named(key: str, tmp_path: Path) -> None:
    """Before Spark is asked."""
    dependencies = Dependencies.of(Configuration({key: str(tmp_path / "missing.zip")}))
    with pytest.raises(ConfigurationError, match=rf"missing.zip, given to .*{key}, does not exist"):
        dependencies.ship(None)  # type: ignore[arg-type]


@pytest.mark.turns(7)
def test_a_missing_jar_is_named(tmp_path: Path) -> None:
    """So is one of a URI; what is elsewhere is left to Spark."""
    with pytest.raises(ConfigurationError, match="missing.jar, given to add_jars"):
        Dependencies.of(Configuration({"pipeline.jars": f"file://{tmp_path}/missing.jar"}))
    found = Dependencies.of(Configuration({"pipeline.jars": "hdfs://host/a.jar;s3://b/c.jar"}))
    assert found.jars == ("hdfs://host/a.jar", "s3://b/c.jar")
    assert found.add_to({"spark.jars": "x.jar"}) == {
        "spark.jars": "x.jar,hdfs://host/a.jar,s3://b/c.jar"
    }


@pytest.mark.turns(7)
def test_an_archive_must_be_one(tmp_path: Path) -> None:
    """Spark would hand it on as it is."""
    (tmp_path / "data.7z").write_bytes(b"")
    dependencies = Dependencies.of(Configuration({"python.archives": str(tmp_path / "data.7z")}))
    with pytest.raises(ConfigurationError, match="not one of the archives that Spark unpacks"):
        dependencies.ship(None)  # type: ignore[arg-type]


@pytest.mark.turns(7)
def test_the_methods_set_flinks_options(env: Env) -> None:
    """In Flink's form."""
    env.add_python_file("a.py")
    env.add_python_file("b.zip")
    env.add_python_archive("c.zip", "data")
    env.add_python_archive("d.zip")
    env.set_python_requirements("r.txt", "cache")
    env.set_python_executable("python3")
    found = Dependencies.of(env._configuration)
    assert found.files == ("a.py", "b.zip")
    assert found.archives == ("c.zip#data", "d.zip")
    assert (found.requirements, found.executable) == ("r.txt#cache", "python3")
    env.add_jars("hdfs://host/a.jar", "hdfs://host/b.jar")
    env.add_jars("hdfs://host/c.jar")
    assert len(Dependencies.of(env._configuration).jars) == 3


@pytest.mark.turns(7)
def test_refusals(env: Env) -> None:
    """Paths come one by one."""
    with pytest.raises(JobDefinitionError, match="python.files takes paths without commas"):
        env.add_python_file("a.py,b.py")
    with pytest.raises(
        JobDefinitionError, match=r"add_jars\(\) takes each path as a separate argument"
    ):
        env.add_jars(["a.jar"])  # type: ignore[arg-type]


@pytest.mark.turns(7)
def test_jobs_without_dependencies_have_the_usual_workers() -> None:
    """Nothing is set that would part them from others."""

    context: Any = SimpleNamespace(environment={}, pythonExec="python")
    with WorkerEnvironment().of_functions(context):
        assert (context.environment, context.pythonExec) == ({}, "python")
    with WorkerEnvironment(executable="other").of_functions(context):
        assert (list(context.environment), context.pythonExec) == ([VARIABLE], "other")
    assert (context.environment, context.pythonExec) == ({}, "python")


@pytest.mark.turns(7)
@pytest.mark.spark
def test_a_file_of_a_name_that_was_there_replaces_it(spark: Any, tmp_path: Path) -> None:
    """Edited where it is, or brought from elsewhere, and no other job minds."""

    def gives(value: int) -> int:
        import edited_helper

        return edited_helper.give(value)

    def job(name: str | None, added: int = 0) -> list[int]:
        env = StreamExecutionEnvironment.get_execution_environment()
        if name is None:
            return mapped(env, lambda value: value)
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def give(value): return value + {added}\n")
        env.add_python_file(str(path if path.parent.name != "package" else path.parent))
        return mapped(env, gives)

    assert job("a/edited_helper.py", 1) == [2]
    assert job("b/edited_helper.py", 20) == [21]
    assert job("b/edited_helper.py", 300) == [301]
    assert job("package/edited_helper.py", 4) == [5]
    assert job("package/edited_helper.py", 5) == [6]
    assert job(None) == [1]
    assert job("a/edited_helper.py", 1) == [2]


@pytest.mark.turns(7)
def test_the_last_file_of_a_name_counts(tmp_path: Path) -> None:
    made = SimpleNamespace(
        addArchive=lambda name: None, master="local[1]", environment={}, pythonExec="python"
    )
    texts = {}
    for directory in ("one", "two"):
        (tmp_path / directory).mkdir()
        path = tmp_path / directory / "again_helper.py"
        path.write_text(f"NAME = {directory!r}\n")
        texts[directory] = str(path)
    shipped = [
        Dependencies(files=files).ship(made).search
        for files in (
            (texts["one"],), (texts["two"],), (texts["one"], texts["two"]), (texts["one"],),
        )
    ]  # fmt: skip
    assert shipped[0] == shipped[3] != shipped[1] == shipped[2]
    assert len(shipped[2]) == 1


@pytest.mark.turns(7)
def test_all_directories_of_a_name_count(tmp_path: Path) -> None:
    """Two projects may each have a ``src``."""
    made = SimpleNamespace(
        addArchive=lambda name: None, master="local[1]", environment={}, pythonExec="python"
    )
    for project in ("one", "two"):
        (tmp_path / project / "src").mkdir(parents=True)
        (tmp_path / project / "src" / f"of_{project}.py").write_text("")
    files = [str(tmp_path / "one" / "src"), f"file://{tmp_path}/two/src"]
    context: Any = made
    assert len(Dependencies(files=tuple(files)).ship(context).search) == 2


def archive_of(tmp_path: Path, text: str, name: str = "archive") -> str:
    """An archive with a file, made anew under a name that there may be already."""
    content = tmp_path / "content"
    content.mkdir(exist_ok=True)
    (content / "data.txt").write_text(text)
    os.utime(content / "data.txt", (10**9, 10**9))  # it is in the archive, too
    return shutil.make_archive(str(tmp_path / name), "zip", content)


@pytest.mark.turns(7)
def test_an_archive_with_other_content_is_unpacked_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that began before go on with theirs; workers find the new one under its name."""
    root = tmp_path / "files"
    root.mkdir()

    def unpack(name: str) -> None:
        path, _, target = name.partition("#")
        shutil.unpack_archive(path, root / target)

    context: Any = SimpleNamespace(
        addArchive=unpack, master="yarn", environment={}, pythonExec="python"
    )
    monkeypatch.setattr(worker_environment, "_root", lambda: str(root))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def read(text: str, target: str = "replaced") -> WorkerEnvironment:
        archives = f"{archive_of(tmp_path, text)}#{target}", archive_of(tmp_path, "same", "plain")
        environment = Dependencies(archives=archives, executable=f"{target}/python").ship(context)
        monkeypatch.chdir(tmp_path)
        environment.enter()
        found = [Path(target, "data.txt").read_text(), Path("plain.zip/data.txt").read_text()]
        assert found == [text, "same"]
        return environment

    first = read("1")
    assert (first.renamed, first.executable) == ((), "./replaced/python")
    second = read("2")
    (_, shipped), _ = second.renamed
    assert second.executable == f"./{shipped}/python"
    assert (root / "replaced" / "data.txt").read_text() == "1"
    assert read("1") == first
    assert read("2") == second
    assert read("2", "other").renamed == ()
