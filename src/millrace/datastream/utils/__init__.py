"""PyFlink's path of `ResultTypeQueryable`."""

from __future__ import annotations

from millrace.common.types.result_type_queryable import ResultTypeQueryable

__all__ = ["ResultTypeQueryable"]
