"""Parts of the kinds of state; `millrace.state.table_kinds` lists all kinds."""
