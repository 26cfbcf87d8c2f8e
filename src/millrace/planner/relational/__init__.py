"""The typed relational tree: a query, independent of the API that made it and of its execution."""
