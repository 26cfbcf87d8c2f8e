"""Renews a lease while its run lives, where no lock says that it does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from millrace.common.errors import MillraceError

__all__ = ["LeaseRenewal"]

log = logging.getLogger(__name__)


class LeaseRenewal:
    """A thread that renews at intervals until it is ended or the lease is lost.

    Args:
        renew: whether the lease is still ours.
        interval: in seconds.
    """

    def __init__(self, renew: Callable[[], bool], interval: float) -> None:
        self._renew = renew
        self._interval = interval
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="lease-renewal", daemon=True).start()

    def end(self) -> None:
        """Renew no more."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            try:
                if not self._renew():
                    return
            except (OSError, MillraceError) as error:
                log.warning("the lease could not be renewed, to be tried again: %s", error)
