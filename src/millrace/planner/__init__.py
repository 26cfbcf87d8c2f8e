"""The planner: from a query's typed relational tree to the transformations that run it."""
