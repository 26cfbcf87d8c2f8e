"""Multipart uploads of S3, through botocore, because obstore can complete only uploads of the same
process.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from millrace.filesystem.file_system import PendingUpload, UploadStatus, require_written
from millrace.filesystem.object_stores.refusals import refusals
from millrace.filesystem.object_stores.uploads import Upload, Uploads, token_of

__all__ = ["S3Uploads"]

_PARTS_OF_ONE_SIZE = 1000
"""Number of parts after which parts become larger, because an upload has at most 10,000."""
_LOOKS = 5
_PAUSE = 0.2
"""Seconds between two checks whether another process has completed an upload."""


class S3Uploads(Uploads):
    """The multipart uploads of an S3 bucket.

    Args:
        client: botocore's for S3; thread-safe.
    """

    def __init__(
        self, client: Any, bucket: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._sleep = sleep

    def begin(self, key: str) -> Upload:
        return _S3Upload(self._client, self._bucket, key)

    def commit(self, upload: PendingUpload, key: str, id: str) -> None:
        with refusals(upload.location):
            parts = self._parts(key, id)
            if parts is None:
                require_written(upload, self._length(key))
                return
            size = sum(part["Size"] for part in parts)
            # while somebody else completes it, a server may list none of its parts
            if size != upload.length and self._was_completed(upload, key, id):
                return
            require_written(upload, size)
            try:
                _complete(self._client, self._bucket, key, id, parts, exclusive=True)
            except Exception:
                if not self._was_completed(upload, key, id):
                    raise

    def _was_completed(self, upload: PendingUpload, key: str, id: str) -> bool:
        """Whether the upload is gone because another process has completed it."""
        for look in range(_LOOKS):
            if look:
                self._sleep(_PAUSE)
            if self._parts(key, id) is None:
                require_written(upload, self._length(key))
                return True
        return False

    def _length(self, key: str) -> int | None:
        """Size of an object in bytes; None if there is none."""
        try:
            length: int = self._client.head_object(Bucket=self._bucket, Key=key)["ContentLength"]
        except self._client.exceptions.ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
                raise
            return None
        return length

    def _parts(self, key: str, id: str) -> list[dict[str, Any]] | None:
        """Parts of an upload; None if there is no such upload."""
        pages = self._client.get_paginator("list_parts")
        try:
            part_pages = pages.paginate(Bucket=self._bucket, Key=key, UploadId=id)
            return [part for page in part_pages for part in page.get("Parts", ())]
        except self._client.exceptions.NoSuchUpload:
            return None

    def pending(self, root: str, prefix: str) -> Iterator[UploadStatus]:
        pages = self._client.get_paginator("list_multipart_uploads")
        with refusals(root + prefix):
            for page in pages.paginate(Bucket=self._bucket, Prefix=prefix):
                for upload in page.get("Uploads", ()):
                    location = root + upload["Key"]
                    modified = upload["Initiated"].timestamp()
                    yield UploadStatus(location, token_of(location, upload["UploadId"]), modified)

    def abort(self, key: str, id: str) -> None:
        with refusals(key), contextlib.suppress(self._client.exceptions.NoSuchUpload):
            self._client.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=id)


class _S3Upload(Upload):
    def __init__(self, client: Any, bucket: str, key: str) -> None:
        self._client, self._bucket, self._key = client, bucket, key
        with refusals(key):
            made = client.create_multipart_upload(Bucket=bucket, Key=key)
        self._id: str = made["UploadId"]
        self._parts: list[dict[str, Any]] = []
        self._piece = bytearray()

    @property
    def id(self) -> str:
        return self._id

    def add(self, data: Any) -> None:
        self._piece += data
        if len(self._piece) >= Uploads.piece * (1 + len(self._parts) // _PARTS_OF_ONE_SIZE):
            self._put()

    def seal(self) -> None:
        if self._piece or not self._parts:  # an empty object has one part, too
            self._put()

    def finish(self, exclusive: bool) -> None:
        self.seal()
        with refusals(self._key):
            _complete(self._client, self._bucket, self._key, self._id, self._parts, exclusive)

    def abort(self) -> None:
        with refusals(self._key):
            self._client.abort_multipart_upload(
                Bucket=self._bucket, Key=self._key, UploadId=self._id
            )

    def _put(self) -> None:
        number = len(self._parts) + 1
        with refusals(self._key):
            made = self._client.upload_part(
                Bucket=self._bucket,
                Key=self._key,
                UploadId=self._id,
                PartNumber=number,
                Body=bytes(self._piece),
            )
        self._parts.append({"PartNumber": number, "ETag": made["ETag"]})
        self._piece = bytearray()


def _complete(
    client: Any, bucket: str, key: str, id: str, parts: list[dict[str, Any]], exclusive: bool
) -> None:
    listed = [{"PartNumber": part["PartNumber"], "ETag": part["ETag"]} for part in parts]
    condition = {"IfNoneMatch": "*"} if exclusive else {}
    client.complete_multipart_upload(
        Bucket=bucket, Key=key, UploadId=id, MultipartUpload={"Parts": listed}, **condition
    )
