"""Translation of relational trees to transformations: one module per kind of node."""
