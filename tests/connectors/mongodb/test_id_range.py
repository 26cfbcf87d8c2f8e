"""Ranges of `_id`, as filters."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.connectors.mongodb.id_range import id_range


@pytest.mark.parametrize(
    ("lower", "upper", "after", "expected"),
    [
        ((), (), False, {}),
        ((1,), (2.5,), True, {"_id": {"$gt": 1, "$lt": 2.5}}),
        (
            ("a",),
            (),
            False,
            {
                "$or": [
                    {"_id": {"$gte": "a"}},
                    {
                        "_id": {
                            "$type": ["object", "binData", "objectId", "bool", "date", "timestamp"]
                        }
                    },
                ]
            },
        ),
        ((7,), ("a",), True, {"$or": [{"_id": {"$gt": 7}}, {"_id": {"$lt": "a"}}]}),
    ],
)
def test_what_is_asked_for(lower: Any, upper: Any, after: bool, expected: Any) -> None:
    assert id_range(lower, upper, after) == expected
