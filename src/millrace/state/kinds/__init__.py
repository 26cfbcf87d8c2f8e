"""Kinds of state: the parts of each; `millrace.state.table_kinds` lists them."""
