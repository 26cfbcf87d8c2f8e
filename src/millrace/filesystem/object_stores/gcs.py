"""Clients of Google Cloud Storage, with application default credentials."""

from __future__ import annotations

from millrace.filesystem.object_stores.bucket import ObjectClients
from millrace.filesystem.object_stores.staged_uploads import StagedUploads

__all__ = ["gcs_clients"]


def gcs_clients(bucket: str) -> ObjectClients:
    """Make the clients of a bucket."""
    from obstore.store import GCSStore

    store = GCSStore(bucket)
    once = GCSStore(bucket, retry_config={"max_retries": 0})
    return ObjectClients(store, once, StagedUploads(store))
