"""The body of a request: JSON of a type, or a form with a file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from millrace.common.typed_json import decode_json
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.server.api_route import ApiError, ApiRoute, UploadedFile
from millrace.server.job_server import ServerSettings
from millrace.server.misspelt_names import refuse_misspelt

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["MAX_BYTES", "parsed_body", "uploaded_file"]

MAX_BYTES = 1 << 20
"""Largest size in bytes of a JSON body."""
_FORM_OVERHEAD = 64 << 10


async def parsed_body(request: Request, route: ApiRoute) -> Any:
    """The body of a request, converted to the type that the route declares; an object without
    fields if there is no body.

    Raises:
        ApiError: 400, it is something else; 413, it is too long.
    """
    if route.body is None:
        return None
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BYTES:
            raise ApiError(413, f"the body is longer than {MAX_BYTES:,} bytes")
    try:
        given = msgspec.json.decode(data or b"{}")
        body = decode_json(data or b"{}", route.body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ApiError(
            400, f"the body of the request does not have the expected form: {error}"
        ) from None
    if isinstance(body, msgspec.Struct):
        fields = [field.encode_name for field in msgspec.structs.fields(body)]
        refuse_misspelt(given, fields, "field")
    return body


@contextlib.asynccontextmanager
async def uploaded_file(
    request: Request, route: ApiRoute, settings: ServerSettings
) -> AsyncIterator[UploadedFile | None]:
    """Context with the uploaded file of a form; None if the route takes no file.

    Raises:
        ApiError: 403 if uploads are disabled, 400 if the form has no file, 413 if it is too large.
    """
    if not route.takes_file:
        yield None
        return
    if not settings.allow_uploads:
        raise ApiError(403, "uploads are off: start the server with --allow-uploads")
    LocalFileSystem().make_directory(str(settings.uploads), durable=False)
    descriptor, path = tempfile.mkstemp(prefix=".upload-", dir=settings.uploads)
    try:
        with os.fdopen(descriptor, "wb") as file:
            name = await _received(request, file, settings.upload_limit)
        yield UploadedFile(name, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


async def _received(request: Request, file: Any, limit: int) -> str:
    """Write the file of a form while it arrives, and return its name."""
    from python_multipart.exceptions import FormParserError
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import UploadFile
    from starlette.exceptions import HTTPException

    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise ApiError(411, "a form must come with its length")
    if len(length) > 18 or int(length) > limit + _FORM_OVERHEAD:
        raise ApiError(413, f"a file may have {limit:,} bytes")
    try:
        async with request.form(max_files=1, max_fields=8) as form:
            upload = next((v for v in form.values() if isinstance(v, UploadFile)), None)
            if upload is None:
                raise ApiError(400, "there is no file in the form")
            written = 0
            while chunk := await upload.read(1 << 20):
                written += len(chunk)
                if written > limit:
                    raise ApiError(413, f"a file may have {limit:,} bytes")
                await run_in_threadpool(file.write, chunk)
            return upload.filename or ""
    except (HTTPException, FormParserError) as error:
        raise ApiError(400, f"the form cannot be read: {error}") from None
