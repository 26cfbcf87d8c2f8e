"""Writes the table of routes into docs/operations/rest-api.md, from their declarations."""

from __future__ import annotations

from pathlib import Path

from millrace.server.api_route import AccessRole
from millrace.server.application import ROUTES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operations" / "rest-api.md"
BEGIN, END = "<!-- routes -->\n", "<!-- end of routes -->\n"
ROLES = {AccessRole.NOBODY: "none", AccessRole.READ: "read", AccessRole.OPERATE: "operate"}


def table() -> str:
    """The routes as a table of Markdown."""
    rows = ["| | path | token | |", "| --- | --- | --- | --- |"]
    for route in sorted(ROUTES, key=lambda route: (route.path, route.method)):
        query = "&".join(parameter.name + "=" for parameter in route.query)
        path = f"`{route.path}{'?' + query if query else ''}`"
        rows.append(f"| {route.method} | {path} | {ROLES[route.role]} | {route.summary} |")
    return "\n".join(rows) + "\n"


def page_with_table(text: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
