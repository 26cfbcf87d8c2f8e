"""A small HTTP endpoint inside the driver: what a running job is doing, and its queryable state."""

from millrace.rest.client import QueryableStateClient, QueryableStateError

__all__ = ["QueryableStateClient", "QueryableStateError"]
