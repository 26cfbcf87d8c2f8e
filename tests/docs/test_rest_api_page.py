"""The page on the REST API has every route, and names exactly those of Flink that are absent."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from millrace.server.application import ROUTES

SCRIPT = Path(__file__).parents[2] / "scripts" / "gen_rest_api_page.py"
FLINKS = Path(__file__).parent / "flink_routes.txt"
GENERATOR = runpy.run_path(str(SCRIPT))
TEXT = GENERATOR["PAGE"].read_text(encoding="utf-8")


def flinks_routes() -> set[str]:
    lines = FLINKS.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if not line.startswith("#")}


def own_routes() -> set[str]:
    """As Flink writes them."""
    paths = [(each.method, re.sub("{([^}]*)}", ":\\1", each.path)) for each in ROUTES]
    return {" ".join(each) for each in paths}


def absent_routes() -> list[str]:
    """Those in the first column of the page's table."""
    table = TEXT.partition("that are absent:")[2].partition("\n\n## ")[0]
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    return [route for row in rows for route in re.findall(r"`([^`]*)`", row)]


def test_the_page_is_up_to_date() -> None:
    assert GENERATOR["page_with_table"](TEXT) == TEXT, f"run python scripts/{SCRIPT.name}"


def test_the_absent_routes_are_those_of_flink_that_there_are_not() -> None:
    absent = absent_routes()
    assert len(absent) == len(set(absent))
    assert set(absent) == flinks_routes() - own_routes()


def test_what_stands_for_an_absent_route_is_there() -> None:
    table = TEXT.partition("that are absent:")[2].partition("\n\n## ")[0]
    rows = [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [route for row in rows for route in re.findall(r"`([A-Z]+ [^`]*)`", row)]
    assert named
    assert set(named) <= own_routes()
