"""The planner: translates a query's typed relational tree into transformations."""
