"""Tools to test functions and whole pipelines in this process, with a clock held by hand."""
