"""Google Cloud Storage's XML interface, as far as obstore uses it: objects in memory, generations.

The emulators that can be had know the JSON interface only, and refuse every put of obstore's. The
conditions are those of Google's documentation ("Request preconditions", "XML API headers").
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from service import Service

_META = "x-goog-meta-"
_CONDITION = "x-goog-if-generation-match"


@dataclass(frozen=True)
class _Object:
    data: bytes
    generation: int
    meta: Mapping[str, str]
    modified: float = field(default_factory=time.time)

    @property
    def tag(self) -> str:
        return f'"{hashlib.md5(self.data).hexdigest()}"'


@dataclass
class _Upload:
    meta: Mapping[str, str]
    parts: dict[int, bytes] = field(default_factory=dict)


class GcsServer(Service):
    """One bucket; whoever asks is let in."""

    name: ClassVar[str] = "Google Cloud Storage (a server of the tests')"
    command: ClassVar[str] = "gcs"
    fixture: ClassVar[str] = "gcs_server"
    bucket: ClassVar[str] = "tests"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.objects: dict[str, _Object] = {}
        self.uploads: dict[str, _Upload] = {}
        self.lock = threading.RLock()
        self.generations = itertools.count(1_700_000_000_000_001)
        self._server: ThreadingHTTPServer | None = None

    @classmethod
    def install(cls) -> None:
        """It is here."""

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"store": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @property
    def environment(self) -> Mapping[str, str]:
        assert self._server is not None
        account = {
            "gcs_base_url": f"http://127.0.0.1:{self._server.server_port}",
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        file = self.directory / "service_account.json"
        file.write_text(json.dumps(account))
        return {"GOOGLE_SERVICE_ACCOUNT": str(file), "GOOGLE_ALLOW_HTTP": "true"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store: ClassVar[GcsServer]

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def _request(self) -> tuple[str, dict[str, str], bytes]:
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        found = parse_qs(url.query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = {name: values[0] for name, values in found.items()}
        return ("" if bucket != self.store.bucket else key), query, body

    def _answer(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status: int, code: str) -> None:
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>"
        self._answer(status, text.encode())

    def _meta(self) -> dict[str, str]:
        return {k.lower(): v for k, v in self.headers.items() if k.lower().startswith(_META)}

    def _make(self, key: str, data: bytes, meta: Mapping[str, str], body: str = "") -> None:
        """Make an object if the condition of the request holds."""
        store = self.store
        with store.lock:
            found = store.objects.get(key)
            condition = self.headers.get(_CONDITION)
            if condition is not None and int(condition) != (found.generation if found else 0):
                self._refuse(412, "PreconditionFailed")
                return
            made = store.objects[key] = _Object(data, next(store.generations), meta)
        body = body.replace("TAG", escape(made.tag))
        self._answer(200, body.encode(), _headers(made))

    def do_PUT(self) -> None:
        key, query, body = self._request()
        source = self.headers.get("x-goog-copy-source")
        if "partNumber" in query:
            upload = self.store.uploads.get(query["uploadId"])
            if upload is None:
                self._refuse(404, "NoSuchUpload")
                return
            upload.parts[int(query["partNumber"])] = body
            self._answer(200, headers={"ETag": f'"{hashlib.md5(body).hexdigest()}"'})
        elif source is not None:
            copied = self.store.objects.get(unquote(source).lstrip("/").partition("/")[2])
            if copied is None:
                self._refuse(404, "NoSuchKey")
                return
            result = "<CopyObjectResult><ETag>TAG</ETag></CopyObjectResult>"
            self._make(key, copied.data, copied.meta, result)
        else:
            self._make(key, body, self._meta())

    def do_POST(self) -> None:
        key, query, _ = self._request()
        if "uploads" in query:
            upload_id = f"upload-{next(self.store.generations)}"
            self.store.uploads[upload_id] = _Upload(self._meta())
            text = f"<UploadId>{upload_id}</UploadId>"
            text = f"<InitiateMultipartUploadResult>{text}</InitiateMultipartUploadResult>"
            self._answer(200, text.encode())
            return
        upload = self.store.uploads.pop(query.get("uploadId", ""), None)
        if upload is None:
            self._refuse(404, "NoSuchUpload")
            return
        data = b"".join(upload.parts[number] for number in sorted(upload.parts))
        result = "<CompleteMultipartUploadResult><ETag>TAG</ETag></CompleteMultipartUploadResult>"
        self._make(key, data, upload.meta, result)

    def do_GET(self) -> None:
        key, query, _ = self._request()
        if not key:
            self._list(query)
            return
        found = self.store.objects.get(key)
        if found is None:
            self._refuse(404, "NoSuchKey")
            return
        wanted = self.headers.get("If-Match")
        if wanted is not None and wanted != found.tag:
            self._refuse(412, "PreconditionFailed")
            return
        span = self.headers.get("Range")
        headers = _headers(found)
        if span is None:
            size = {"Content-Length": str(len(found.data))}
            self._answer(200, found.data, headers | size)
            return
        first, _, last = span.removeprefix("bytes=").partition("-")
        start, end = int(first), min(int(last or 1 << 62) + 1, len(found.data))
        if start >= len(found.data):
            self._refuse(416, "InvalidRange")
            return
        place = {"Content-Range": f"bytes {start}-{end - 1}/{len(found.data)}"}
        self._answer(206, found.data[start:end], headers | place)

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        key, query, _ = self._request()
        if "uploadId" in query:
            self.store.uploads.pop(query["uploadId"], None)
        elif self.store.objects.pop(key, None) is None:
            self._refuse(404, "NoSuchKey")
            return
        self._answer(204)

    def _list(self, query: Mapping[str, str]) -> None:
        """All at once: no test has more than fits."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        contents: list[str] = []
        prefixes: set[str] = set()
        for key, found in sorted(dict(self.store.objects).items()):
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix):
                continue
            if delimiter and delimiter in rest:
                prefixes.add(prefix + rest.partition(delimiter)[0] + delimiter)
            else:
                contents.append(
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(found.data)}</Size>"
                    f"<LastModified>{_to_milliseconds(found.modified)}</LastModified>"
                    f"<ETag>{escape(found.tag)}</ETag></Contents>"
                )
        contents += (
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            for name in sorted(prefixes)
        )
        self._answer(200, f"<ListBucketResult>{''.join(contents)}</ListBucketResult>".encode())


def _to_milliseconds(seconds: float) -> str:
    """Listings tell the time finer than headers do."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _headers(found: _Object) -> dict[str, str]:
    return {
        "ETag": found.tag,
        "Last-Modified": formatdate(found.modified, usegmt=True),
        "x-goog-generation": str(found.generation),
        **found.meta,
    }
