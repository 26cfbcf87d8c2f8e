"""Clients of Azure's object store (Blob Storage, Data Lake Storage), configured by its usual
variables."""

from __future__ import annotations

import os
from typing import Any

from millrace.filesystem.object_stores.bucket import ObjectClients
from millrace.filesystem.object_stores.staged_uploads import StagedUploads

__all__ = ["azure_clients"]

_ENDPOINTS = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")


def azure_clients(name: str) -> ObjectClients:
    """Make the clients of a container.

    Args:
        name: ``container@account.dfs.core.windows.net``.

    Raises:
        ValueError: the variables name no account.
    """
    from obstore.store import AzureStore

    container, _, host = name.partition("@")
    account, _, domain = host.partition(".")
    if not account:
        raise ValueError(
            f"abfss://{name} names no storage account; write "
            "abfss://container@account.dfs.core.windows.net/path"
        )
    endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    if not endpoint:
        domain = domain.removeprefix("dfs.").removeprefix("blob.") or "core.windows.net"
        endpoint = f"https://{account}.blob.{domain}"
    options: dict[str, Any] = {
        "account_name": account,
        "endpoint": endpoint,
        "client_options": {"allow_http": endpoint.startswith("http:")},
    }
    store = AzureStore(container, **options)
    once = AzureStore(container, **options, retry_config={"max_retries": 0})
    return ObjectClients(store, once, StagedUploads(store))
