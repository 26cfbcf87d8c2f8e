"""PyFlink's path of exceptions."""
