"""Clients of Amazon S3 and of servers with its protocol.

Credentials, region and endpoint are found as every program of AWS finds them: environment
variables, profiles, roles of containers and machines (botocore's chain). They stay in this
process: neither checkpoints nor job graphs nor errors have them.
"""

from __future__ import annotations

import datetime
import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from millrace.filesystem.object_stores.bucket import ObjectClients
from millrace.filesystem.object_stores.s3_uploads import S3Uploads
from millrace.filesystem.settings import FileSystemSettings, current_settings

if TYPE_CHECKING:
    from obstore.store import S3Credential

__all__ = ["s3_clients"]

_CREDENTIALS_LAST = datetime.timedelta(minutes=10)
"""Remaining lifetime of temporary credentials at which botocore renews them."""
_DEFAULT_REGION = "us-east-1"


def s3_clients(bucket: str) -> ObjectClients:
    """Make the clients of a bucket.

    Raises:
        PermissionError: there are no credentials.
    """
    from botocore.session import get_session
    from obstore.store import S3Store

    session = get_session()
    credentials = session.get_credentials()
    if credentials is None:
        raise PermissionError(
            errno.EACCES,
            "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, "
            "or run where a role gives some",
            f"s3://{bucket}",
        )
    settings = current_settings()
    client = _client(session, settings)
    endpoint, virtual = _address(client.meta.endpoint_url, bucket, settings.s3_path_style)
    region = client.meta.region_name
    options: dict[str, Any] = {
        "aws_endpoint_url_s3": endpoint,  # "endpoint" gives way to the variable of that name
        "region": _DEFAULT_REGION if region in (None, "aws-global") else region,
        "virtual_hosted_style_request": virtual,
        "client_options": {"allow_http": endpoint.startswith("http:")},
        "credential_provider": _provider(credentials),
    }
    store = S3Store(bucket, **options)
    once = S3Store(bucket, **options, retry_config={"max_retries": 0})
    return ObjectClients(store, once, S3Uploads(client, bucket))


def _client(session: Any, settings: FileSystemSettings) -> Any:
    from botocore.config import Config

    styles = {None: "auto", True: "path", False: "virtual"}
    # other servers than Amazon's do not all know checksums at the end of a request
    config = Config(
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        max_pool_connections=32,
        retries={"mode": "standard", "max_attempts": 8},
        s3={"addressing_style": styles[settings.s3_path_style]},
    )
    return session.create_client(
        "s3", settings.s3_region, endpoint_url=settings.s3_endpoint, config=config
    )


def _address(endpoint: str, bucket: str, path_style: bool | None) -> tuple[str, bool]:
    """The endpoint of a bucket, and whether its host name contains the bucket's name."""
    parts = urlsplit(endpoint)
    amazon = ".amazonaws." in f"{parts.hostname}." and "." not in bucket
    by_path = not amazon if path_style is None else path_style
    if by_path:
        return endpoint.rstrip("/"), False
    return f"{parts.scheme}://{bucket}.{parts.netloc}", True


def _provider(credentials: Any) -> Callable[[], S3Credential]:
    def provide() -> S3Credential:
        frozen = credentials.get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.datetime.now(datetime.UTC) + _CREDENTIALS_LAST,
        }

    return provide
