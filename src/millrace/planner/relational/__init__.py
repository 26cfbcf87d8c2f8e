"""The typed relational tree: what a query is, whoever wrote it and however it will run."""
