"""Fields of times in Java's English calendar: weeks begin on Sunday, and the first week of a
year or month is the one with its first day."""

from __future__ import annotations

from datetime import date, timedelta

__all__ = ["DAYS", "MONTHS", "day_of_week", "week_of_month", "week_of_year"]

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip


def day_of_week(day: date) -> int:
    """Day of the week, where Sunday is 1.

    >>> day_of_week(date(2024, 12, 30))
    2
    """
    return day.isoweekday() % 7 + 1


def week_of_month(day: date) -> int:
    """Week of the month, from 1.

    >>> week_of_month(date(2024, 12, 30))
    5
    """
    return (day.day - 1 + _days_before(day.replace(day=1))) // 7 + 1


def week_of_year(day: date) -> tuple[int, int]:
    """Year to which a day's week belongs, and the week in this year, from 1.

    >>> week_of_year(date(2024, 12, 30)), week_of_year(date(2021, 3, 4))
    ((2025, 1), (2021, 10))
    """
    left = (date(day.year, 12, 31) - day) // timedelta(days=1)
    if left < 6 - _days_before(day):  # the week's last day is in the next year
        return day.year + 1, 1
    first = day.replace(month=1, day=1)
    return day.year, ((day - first).days + _days_before(first)) // 7 + 1


def _days_before(day: date) -> int:
    """Number of days between the start of the week and a day."""
    return day.isoweekday() % 7
