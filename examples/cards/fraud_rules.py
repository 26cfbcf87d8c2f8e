"""The rule as it is first, and as it is later, in the form in which it comes from elsewhere."""

from __future__ import annotations

import json
from typing import Any


def probe(version: int, large: float) -> str:
    """A small charge, and within a minute one of more than ``large`` euros from another country."""
    rule: dict[str, Any] = {
        "format": 1,
        "rule": "probe",
        "version": version,
        "pattern": {
            "parts": [
                {"name": "small", "where": {"field": "amount", "op": "<", "value": 2}},
                {
                    "name": "large",
                    "contiguity": "followed_by",
                    "where": {
                        "and": [
                            {"field": "amount", "op": ">", "value": large},
                            {
                                "field": "country",
                                "op": "!=",
                                "value": {"field": "country", "of": "small"},
                            },
                        ]
                    },
                },
            ],
            "within": "1 min",
        },
    }
    return json.dumps(rule)


def stop() -> str:
    """Look for it no longer."""
    return json.dumps({"format": 1, "rule": "probe", "action": "disable"})
