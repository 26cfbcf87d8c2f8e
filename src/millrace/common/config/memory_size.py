"""Amounts of memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["MemorySize"]

UNITS = ("b", "kb", "mb", "gb", "tb")
NAMES = {
    **dict.fromkeys(("", "b", "bytes"), 0),
    **dict.fromkeys(("k", "kb", "kib", "kibibytes"), 1),
    **dict.fromkeys(("m", "mb", "mib", "mebibytes"), 2),
    **dict.fromkeys(("g", "gb", "gib", "gibibytes"), 3),
    **dict.fromkeys(("t", "tb", "tib", "tebibytes"), 4),
}


@dataclass(frozen=True, slots=True, order=True)
class MemorySize:
    """A number of bytes; its units are powers of 1024, as in Flink.

    Example:
        >>> MemorySize.parse("64 mb").get_bytes(), str(MemorySize(2048))
        (67108864, '2 kb')
    """

    bytes_size: int

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """An amount in mebibytes (1024 * 1024 bytes)."""
        return MemorySize(mebi_bytes << 20)

    @staticmethod
    def parse(text: str) -> MemorySize:
        """Parse a text such as ``"64 mb"``. Units are b, kb, mb, gb and tb; the default is bytes.

        Raises:
            ValueError: it is not a number with one of these units.
        """
        match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
        if match is None or match[2] not in NAMES:
            raise ValueError(f"{text!r} is not an amount of memory such as '64 mb' or '2 gb'")
        return MemorySize(int(match[1]) << 10 * NAMES[match[2]])

    def get_bytes(self) -> int:
        """The amount in bytes."""
        return self.bytes_size

    def get_kibi_bytes(self) -> int:
        """The amount in whole units of 1024 bytes."""
        return self.bytes_size >> 10

    def get_mebi_bytes(self) -> int:
        """The amount in whole units of 1024**2 bytes."""
        return self.bytes_size >> 20

    def get_gibi_bytes(self) -> int:
        """The amount in whole units of 1024**3 bytes."""
        return self.bytes_size >> 30

    def get_tebi_bytes(self) -> int:
        """The amount in whole units of 1024**4 bytes."""
        return self.bytes_size >> 40

    def __str__(self) -> str:
        size, unit = self.bytes_size, 0
        while size and size % 1024 == 0 and unit < len(UNITS) - 1:
            size, unit = size // 1024, unit + 1
        return f"{size} {UNITS[unit]}"
