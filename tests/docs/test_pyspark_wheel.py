"""The wheel of PySpark that set-up, the matrix of versions and the release share."""

from __future__ import annotations

from pathlib import Path

from pyspark_wheel import pinned_version, pyspark_wheel, remove_wheels


class Builder:
    """Builds empty wheels, of the newest version where any patch is wanted."""

    def __init__(self, newest: str = "9") -> None:
        self.newest = newest
        self.built: list[str] = []

    def __call__(self, version: str, directory: Path) -> None:
        self.built.append(version)
        exact = version.replace("*", self.newest)
        (directory / f"pyspark-{exact}-py2.py3-none-any.whl").touch()
        (directory / f"pyspark-{exact}.tar.gz").touch()


def test_a_wheel_is_built_once_and_nothing_else_is_kept(tmp_path: Path) -> None:
    build = Builder()
    wheels = [pyspark_wheel(version, tmp_path, build) for version in ("4.1.*", "4.3.0") * 2]
    names = ["pyspark-4.1.9-py2.py3-none-any.whl", "pyspark-4.3.0-py2.py3-none-any.whl"]
    assert [wheel.name for wheel in wheels] == names * 2
    assert build.built == ["4.1.*", "4.3.0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", *names]


def test_the_newest_patch_is_taken(tmp_path: Path) -> None:
    for version in ("4.1.9", "4.1.10", "4.10.1"):
        pyspark_wheel(version, tmp_path, Builder())
    build = Builder()
    assert pyspark_wheel("4.1.*", tmp_path, build).name.startswith("pyspark-4.1.10-")
    assert not build.built


def test_the_version_of_the_constraints_stays(tmp_path: Path) -> None:
    build = Builder()
    for version in (None, "4.0.*"):
        pyspark_wheel(version, tmp_path, build)
    assert build.built == [pinned_version(), "4.0.*"]
    remove_wheels(tmp_path)
    kept = [path.name for path in tmp_path.glob("*.whl")]
    assert kept == [f"pyspark-{pinned_version()}-py2.py3-none-any.whl"]
