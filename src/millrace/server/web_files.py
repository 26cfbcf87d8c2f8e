"""The files of the web UI. They are public, because they contain no data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

__all__ = ["WEB", "WebFiles"]

WEB = Path(__file__).parent / "web"
_NAMED_BY_CONTENT = re.compile(r"/assets/.*[-.][A-Za-z0-9_-]{8,}\.\w+")
"""Paths of files that get a new name with every new content, so that browsers may cache them."""


class WebFiles:
    """Serves a directory; ``/`` is its ``index.html``."""

    def __init__(self, directory: Path = WEB) -> None:
        self._app = GZipMiddleware(StaticFiles(directory=directory, html=True), minimum_size=1_400)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        lasting = _NAMED_BY_CONTENT.fullmatch(scope.get("path", "")) is not None
        caching = "public, max-age=31536000, immutable" if lasting else "no-cache"

        async def send_with_caching(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] in (200, 304):
                MutableHeaders(scope=message)["Cache-Control"] = caching
            await send(message)

        await self._app(scope, receive, send_with_caching)
