"""The committed build of the web UI: that of its source, and it asks nobody else for anything."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "scripts"))

from check_web import BUILD, HASH, SOURCE, differences, sources_hash


def test_build_is_that_of_the_source() -> None:
    assert (BUILD / HASH).read_text().strip() == sources_hash(SOURCE)


def test_a_change_of_the_source_changes_its_hash(tmp_path) -> None:
    ignored = shutil.ignore_patterns("node_modules")
    copy = shutil.copytree(SOURCE, tmp_path / "web", ignore=ignored)
    before = sources_hash(copy)
    assert before == sources_hash(SOURCE)
    (copy / "src" / "route.ts").rename(copy / "src" / "routes.ts")
    assert sources_hash(copy) != before


def test_what_differs_is_named(tmp_path) -> None:
    copy = shutil.copytree(BUILD, tmp_path / "build")
    assert differences(BUILD, copy) == []
    (copy / "index.html").write_text("another")
    (copy / "new.js").write_text("")
    assert differences(BUILD, copy) == ["index.html", "new.js"]


def test_tracebacks_know_all_rooms_of_the_package() -> None:
    """Frames of another room would be shown as the user's own code."""
    source = (SOURCE / "src" / "model" / "traceback.ts").read_text()
    [names] = re.findall(r"millrace\[\\\\/\]\(([\w|]+)\)", source)
    package = BUILD.parents[1]
    rooms = {each.name for each in package.iterdir() if (each / "__init__.py").exists()}
    assert set(names.split("|")) == rooms


def test_nothing_is_fetched_from_elsewhere() -> None:
    page = (BUILD / "index.html").read_text()
    assert re.findall(r'(?:src|href)="([^"]+)"', page)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    for style in (BUILD / "assets").glob("*.css"):
        assert not re.search(r"url\(.?(?:https?:)?//|@import", style.read_text())


def test_lock_file_names_no_registry() -> None:
    assert "resolved" not in (SOURCE / "package-lock.json").read_text()
