"""Settings of file systems without secrets, which are shipped with a job to its workers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FileSystemSettings", "current_settings", "use_settings"]


@dataclass(frozen=True, slots=True)
class FileSystemSettings:
    """Addresses of stores. Credentials are not included: each process finds its own."""

    s3_endpoint: str | None = None
    s3_region: str | None = None
    s3_path_style: bool | None = None


_settings = FileSystemSettings()


def current_settings() -> FileSystemSettings:
    """The settings that this process uses now."""
    return _settings


def use_settings(settings: FileSystemSettings) -> None:
    """Use the settings for files that are opened from now on."""
    global _settings  # noqa: PLW0603  one per process, as environment variables are
    _settings = settings
