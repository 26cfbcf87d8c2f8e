"""Looks at the built documentation with a browser: its search, and the width of its pages.

python scripts/check_site.py [SITE]   exit 1 if something is wrong

Search: each SQL function, option and public name is asked for, and its page has to be the first
result. The questions go to the search that readers use: the worker of the theme, with the index of
the site. Width: no page of a few is wider than the window, in both themes, on a desktop and a
phone. The browser is the Chromium of the tests; without it the check is left out, with a message.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PUBLIC_NAME = re.compile(r"^::: (millrace\.[\w.]+)$", re.MULTILINE)
WIDE_PAGES = (
    "",
    "five-minutes/",
    "limits/",
    "sql-functions/",
    "configuration/",
    "connectors/kafka/",
)
WINDOWS = ((1440, 900), (390, 844))
TOO_WIDE = """
() => {
  const width = document.documentElement.clientWidth
  const scrolls = "pre, svg, .md-typeset__scrollwrap, .md-search, .md-tabs, .tabbed-labels"
  const clipped = [...document.querySelectorAll(".md-content *, .md-header *")]
    .filter((element) => !element.closest(scrolls))
    .filter((element) => element.getBoundingClientRect().width > 1)
    .filter((element) => element.getBoundingClientRect().right > width + 1)
    .map((element) => `${element.tagName.toLowerCase()} ${element.textContent.trim().slice(0, 40)}`)
  const wide = document.documentElement.scrollWidth > width + 1
  return wide || clipped.length ? clipped.slice(0, 3) : null
}
"""
SHOWN = 60
"""The most names that are printed."""
ASK = """
async (queries) => {
  const config = JSON.parse(document.getElementById("__config").textContent)
  const index = await (await fetch("search/search_index.json")).json()
  const worker = new Worker(config.search)
  const ask = (message) => new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message))
    worker.onmessage = (event) => resolve(event.data.data)
    worker.postMessage(message)
  })
  await ask({ type: 0, data: { ...index, options: { suggest: false } } })
  const pages = []
  for (const query of queries) {
    const { items } = await ask({ type: 2, data: query })
    pages.push(items.slice(0, 3).map((group) => group[0].location.split("#")[0]))
  }
  return pages
}
"""


@dataclass(frozen=True)
class Question:
    """A name that is asked for, and the pages that may answer."""

    name: str
    pages: frozenset[str]


def questions() -> list[Question]:
    """All SQL functions whose name is a word, all options, and all names of the API reference."""
    from connector_pages import expanded
    from search_entries import name_of

    from millrace.common.config.known_options import OPTIONS
    from millrace.expressions.registry import functions

    wanted: dict[str, set[str]] = {}
    for definition in functions():
        for signature in definition.signature_texts():
            wanted.setdefault(name_of(signature), set()).add("sql-functions/")
    for key in OPTIONS:
        wanted.setdefault(key, set()).add("configuration/")
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        for path in PUBLIC_NAME.findall(expanded(page.read_text(encoding="utf-8"))):
            if not is_module(path):
                wanted.setdefault(path.rpartition(".")[2], set()).add(f"api/{page.stem}/")
    wanted.pop("", None)
    wanted["Configuration"].add("configuration/")
    # the search knows no capitals: ROW may lead to Row
    pages: dict[str, set[str]] = {}
    for name, places in wanted.items():
        pages.setdefault(name.lower(), set()).update(places)
    return [Question(name, frozenset(pages[name.lower()])) for name in wanted]


def is_module(path: str) -> bool:
    """Whether a name of the API reference is a module, such as ``millrace.graph.pregel``."""
    place = ROOT / "src" / Path(*path.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a server of a directory, on loopback."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *_: Any) -> None:
            """Requests are not worth a line."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def answers(page: Any, url: str, names: list[str]) -> list[list[str]]:
    """The pages of the first results for each name."""
    page.goto(f"{url}/index.html")
    found: list[list[str]] = page.evaluate(ASK, names)
    return found


def wide_pages(browser: Any, url: str) -> Iterator[str]:
    """A line for each page that is wider than its window, with the elements that are cut off."""
    for width, height in WINDOWS:
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page = context.new_page()
            for path in WIDE_PAGES:
                page.goto(f"{url}/{path}")
                clipped = page.evaluate(TOO_WIDE)
                if clipped is not None:
                    yield f"{path or 'home'} is wider than {width} pixels, {scheme}: {clipped}"
            context.close()


def misplaced(asked: list[Question], found: list[list[str]]) -> Iterator[str]:
    """A line for each name whose page is not the first result."""
    for question, pages in zip(asked, found, strict=True):
        if not pages or pages[0] not in question.pages:
            expected = " or ".join(sorted(question.pages))
            yield f"search for {question.name}: {expected} expected, {pages or 'nothing'} found"


def main(argv: list[str]) -> int:
    sys.path.insert(0, str(ROOT / "tests" / "services"))
    playwright: Any = importlib.import_module("playwright.sync_api")
    unavailable: Any = importlib.import_module("service").ServiceUnavailableError
    chromium: Any = importlib.import_module("chromium").Chromium

    site, asked = Path(argv[0]) if argv else ROOT / "site", questions()
    try:
        chromium.install()
    except unavailable as error:
        print(f"search and widths are not checked: {error}")
        return 0
    with served(site) as url, playwright.sync_playwright() as driver:
        browser = chromium(ROOT / ".services" / "site").launch(driver)
        try:
            found = answers(browser.new_page(), url, [question.name for question in asked])
            lines = [*misplaced(asked, found), *wide_pages(browser, url)]
        finally:
            browser.close()
    for line in lines[:SHOWN]:
        print(line)
    print(f"site: {len(asked)} names asked for, {len(lines)} faults")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
