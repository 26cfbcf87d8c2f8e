"""Functions of the user: scalar, table, aggregate and table aggregate functions."""
