"""Checks that names of this machine resolve to addresses that others can reach."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning

LOOPBACK, HOST_NAME = "loopback", "host name"
Resolve = Callable[[str], Sequence[str]]


def addresses_of(name: str) -> Sequence[str]:
    """The addresses of a host name; empty if the name cannot be resolved."""
    try:
        entries = socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)
    except OSError:
        return ()
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries))


def check_loopback(resolve: Resolve = addresses_of) -> Diagnosis:
    """Check that ``localhost`` is this machine."""
    addresses = resolve("localhost")
    fix = "Put the line '127.0.0.1 localhost' into /etc/hosts."
    if not addresses:
        return failure(LOOPBACK, "localhost has no address", fix)
    if not all(ipaddress.ip_address(address).is_loopback for address in addresses):
        return failure(LOOPBACK, f"localhost is {', '.join(addresses)}", fix)
    return ok(LOOPBACK, f"localhost is {', '.join(addresses)}")


def check_host_name(
    name: str, driver_host: str | None, resolve: Resolve = addresses_of
) -> Diagnosis:
    """Check that executors on other machines can reach the driver.

    Args:
        name: host name of this machine.
        driver_host: value of ``spark.driver.host`` or ``SPARK_LOCAL_IP``; None if neither is set.
    """
    wanted = driver_host or name
    addresses = resolve(wanted)
    fix = "Set spark.driver.host to a name or address of this machine that the executors can reach."
    if not addresses:
        return failure(HOST_NAME, f"{wanted} has no address", fix)
    if any(ipaddress.ip_address(address).is_loopback for address in addresses):
        return warning(
            HOST_NAME, f"{wanted} is {', '.join(addresses)}, which other machines cannot reach", fix
        )
    return ok(HOST_NAME, f"{wanted} is {', '.join(addresses)}")
