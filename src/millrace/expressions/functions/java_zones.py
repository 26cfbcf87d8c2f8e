"""`java_zone`: time zones by the names that Java's ``TimeZone`` knows."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ["java_zone", "zone_by_id"]

_CUSTOM = re.compile(r"GMT([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "Etc/GMT+5",
    "HST": "Etc/GMT+10",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "Etc/GMT+7",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Abbreviations, as ``java.time.ZoneId.SHORT_IDS`` has them."""


@lru_cache(maxsize=1024)
def java_zone(name: str) -> tzinfo | None:
    """The zone with a name (``Europe/Berlin``), an abbreviation (``PST``) or an offset
    (``GMT-08:00``); None if it is unknown.

    >>> java_zone("GMT+8"), java_zone("PST"), java_zone("Mars/X")
    (datetime.timezone(datetime.timedelta(seconds=28800)), zoneinfo.ZoneInfo(key='America/Los_Angeles'), None)
    """  # noqa: E501
    match = _CUSTOM.fullmatch(name)
    if match:
        return _of_offset(match[1], int(match[2]), int(match[3] or 0))
    try:
        return ZoneInfo(_SHORT.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


def zone_by_id(name: str) -> tzinfo | None:
    """The zone with an identifier of ``java.time.ZoneId``: a name or an offset; None if it is
    unknown.

    >>> zone_by_id("+02:00"), zone_by_id("PST")
    (datetime.timezone(datetime.timedelta(seconds=7200)), None)
    """
    match = _OFFSET.fullmatch(name)
    if match:
        return _of_offset(match[1], int(match[2]), int(match[3] or 0))
    if name in _SHORT:
        return None
    return java_zone("UTC" if name == "Z" else name)


def _of_offset(sign: str, hours: int, minutes: int) -> tzinfo | None:
    if hours > 23 or minutes > 59:
        return None
    span = timedelta(hours=hours, minutes=minutes)
    return timezone(-span if sign == "-" else span)
